/**
 * The results view: ranking, filters and export.
 * @module
 */

import { announce, byId, el, fill, icon } from "./dom.js";
import { exportMenu, linkButton } from "./export.js";
import { conditionCount, isDated } from "./filter-text.js";
import { filterPanel, mostUseful } from "./filters.js";
import { asText, count, label, joinList, plural } from "./format.js";
import { hiddenList } from "./hidden.js";
import { readerAddress } from "./history.js";
import { hitItem } from "./hit.js";
import { showError } from "./notice.js";
import { progressLine } from "./progress.js";
import { markButtons, marksBar, marksOf, withDocument } from "./marks.js";
import { matterHead, matterName, noteOn } from "./matters.js";
import { addressOf, displayName, queryName, documentNames, EMPTY_QUERY, isIndexed } from "./query.js";
import { rejectedControl } from "./search-form.js";
import { isKept } from "./stored.js";

const WIDE = matchMedia("(min-width: 1000px)");
const SORTS = { rank: "Best match", newest: "Newest first", oldest: "Oldest first" };
const NOT_KEPT = "Your browser can't keep a query of this size. If you reload the page, please add it again.";

/** @typedef {import("./history.js").Entry} Entry */

/**
 * @param {any} info of the index
 * @param {{rerun: (choice: import("./query.js").Choice, focus?: string) => void, open: (id: string, at?: [number, number]) => void, edit: () => void,
 *   more: (document: {id: string, title: string}) => void, read: (id: string) => void, coverage: () => void,
 *   sentences: (entry: Entry) => void, save: (entry: Entry) => void, exportAs: (format: string) => Promise<void>, keep: (entry: Entry) => void}} actions `keep` stores what was hidden, restored or sorted
 */
export function resultsView(info, actions) {
  const head = el("header", { class: "results-head" });
  const progress = el("div", { id: "results-progress" });
  const errorBox = el("div", { id: "results-error" });
  const list = el("div", { class: "list" });
  const tally = el("div"); // hidden results
  const panel = el("div", { id: "results-filters" });
  const chevron = icon("chevron");
  chevron.classList.add("chevron");
  const badge = el("span", { class: "badge", hidden: true });
  const fold = el("details", { class: "side-fold" }, el("summary", {}, icon("filter"), el("span", {}, "Filters"), badge, chevron), panel);
  fill(byId("results"), head, el("div", { class: "results-body" },
    el("aside", { class: "side", "aria-label": "Filters" }, fold),
    el("div", { class: "list-side" }, progress, errorBox, list)));
  const filters = filterPanel(panel, info, "filter", (choice) => actions.rerun(choice));
  const order = mostUseful(info).map(({ name }) => name);
  const dated = order.filter((name) => isDated(info.fields.find((field) => field.name === name)));
  const datesOf = ({ seeds }) => dated.filter((name) => seeds.some(({ metadata }) => /^\d{4}/u.test(asText(metadata[name]))));
  const unfold = () => (fold.open = WIDE.matches);
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.target.tagName !== "INPUT") return;
    event.preventDefault();
    filters.applyForm();
  });
  WIDE.addEventListener("change", unfold);
  unfold();

  /** @param {any} error @param {() => void} again */
  function fail(error, again) {
    const control = rejectedControl(error);
    if (control) {
      fold.open = true;
      filters.showError(error.message, control);
    } else showError(errorBox, error, { index: info.index, again });
  }

  /** @param {Entry} entry */
  function draw(entry) {
    const { query, choice, answer } = entry;
    const address = addressOf(query, choice);
    const notKept = el("p", { class: "hint", id: "not-kept", hidden: true }, NOT_KEPT);
    fill(head,
      el("p", { class: "kicker" }, "Documents similar to"),
      el("h1", { id: "results-title", tabindex: "-1" }, queryName(query)),
      documentNames(query).length > 2 && el("p", { class: "seed-names" }, joinList(documentNames(query))),
      answer && el("p", { class: "summary", id: "summary" }, summary(answer)),
      el("div", { class: "tools" },
        el("button", { type: "button", class: "button", id: "edit", on: { click: actions.edit } }, icon("pen"), "Edit search"),
        answer && answer.hits.length > 0 && el("button", { type: "button", class: "button", id: "show-coverage", on: { click: actions.coverage } }, icon("lanes"), "Coverage"),
        answer ? [exportMenu(actions.exportAs), saveMatterButton(entry), ...linkButton(address)] : []),
      notKept);
    isKept(query).then((kept) => (notKept.hidden = kept || isIndexed(query)));
    filters.set(choice, { dated: answer ? datesOf(answer.query) : undefined, results: answer ? metadataOf(kept(entry)) : null });
    const conditions = filters.conditions();
    badge.hidden = !conditions;
    badge.textContent = count(conditions);
    if (answer) drawList(entry);
    else fill(list);
  }

  /** @param {Entry} entry */
  function drawList(entry) {
    const { answer, query, choice } = entry;
    const similar = (id) => addressOf({ ...EMPTY_QUERY, indexed: [{ id, title: "" }] }, { ...choice, marks: undefined });
    const items = sorted(kept(entry), choice.sort, dated).map((hit) => hitItem(hit, {
      ...notesOf(entry, hit), order, similar, alone: readerAddress, more: actions.more, read: actions.read, open: actions.open,
      address: (id, at) => addressOf(query, choice, id, at), hide: () => hide(entry, hit.id),
    }));
    fill(list,
      matterHead(entry, fail),
      marksBar(marksOf(choice), {
        remove: (kind, document) => mark(entry, kind, document), open: actions.open, sentences: () => actions.sentences(entry),
        clear: () => actions.rerun({ ...choice, marks: undefined }, "#mark-sentences"),
      }),
      answer.notes.length > 0 && el("ul", { class: "notes", "aria-label": "Notes" }, answer.notes.map(item)),
      el("div", { class: "list-head" }, hiddenLine(entry), dated.length > 0 && answer.hits.length > 1 && sorter(entry)),
      items.length > 0 && el("ol", { class: "hits", id: "hits" }, items),
      !answer.hits.length && noResults(choice),
      answer.hits.length > 0 && workedExample(),
      technicalDetails(answer));
  }

  /** What the user marks and writes on a result. */
  function notesOf(entry, hit) {
    const name = displayName(hit);
    const { shown, fold: editor } = noteOn(entry, hit.id, name, () => actions.keep(entry));
    return { note: shown, marks: [markButtons(hit, name, (kind) => mark(entry, kind, hit)), editor] };
  }

  function saveMatterButton(entry) {
    const name = matterName();
    return el("button", { type: "button", class: "button", id: "save-matter", title: name && `Matter: ${name}`, on: { click: () => actions.save(entry) } }, icon("book"), "Save matter");
  }

  /** Mark a document, or remove its mark, and search again. */
  function mark(entry, kind, document) {
    actions.rerun({ ...entry.choice, marks: withDocument(marksOf(entry.choice), kind, document) }, `.marked[data-id="${CSS.escape(document.id)}"] .linklike`);
  }

  function sorter(entry) {
    const options = Object.entries(SORTS).map(([value, name]) => el("option", { value, selected: value === entry.choice.sort }, name));
    const select = el("select", { id: "sort" }, options);
    select.addEventListener("change", () => {
      entry.choice = { ...entry.choice, sort: select.value };
      actions.keep(entry);
      draw(entry);
      byId("sort").focus({ preventScroll: true });
      announce(`Sorted: ${SORTS[entry.choice.sort]}`);
    });
    return el("label", { class: "sort" }, el("span", {}, "Sort by"), select);
  }

  // -------------------------------------------------------------------------- hidden results

  /** The hidden results. @param {Entry} entry */
  function hiddenLine(entry, open = false) {
    const gone = entry.answer.hits.filter(({ id }) => entry.hidden.has(id));
    fill(tally, gone.length > 0 && hiddenList(gone, { open, restore: (id) => restore(entry, [id]), restoreAll: () => restore(entry, [...entry.hidden]) }));
    return tally;
  }

  function restore(entry, ids) {
    ids.forEach((id) => entry.hidden.delete(id));
    changed(entry);
    drawList(entry);
    hiddenLine(entry, true);
    announce(ids.length === 1 ? "Restored" : "All results are restored");
    (tally.querySelector(".restore") ?? opener(itemOf(list, ids[0])) ?? byId("results-title")).focus();
  }

  function hide(entry, id) {
    const element = itemOf(list, id);
    const next = element.nextElementSibling ?? element.previousElementSibling;
    entry.hidden.add(id);
    element.remove();
    changed(entry);
    hiddenLine(entry, Boolean(tally.querySelector("[open]")));
    announce(`${plural(entry.hidden.size, "result")} hidden`);
    (opener(next) ?? tally.querySelector("summary")).focus();
  }

  function changed(entry) {
    actions.keep(entry);
    filters.set(entry.choice, { results: metadataOf(kept(entry)) });
  }

  return {
    draw,
    /** Show progress while a search runs; the old results stay, dimmed. @param {() => void} cancel */
    busy(cancel) {
      fill(errorBox);
      list.setAttribute("aria-busy", "true");
      const line = progressLine(progress, info.documents, cancel);
      const end = () => {
        line.end();
        if (!progress.firstChild) list.removeAttribute("aria-busy"); // unless another search has started
      };
      return { onEvent: line.onEvent, end };
    },
    fail,
    /** Focus a result, or the heading. @param {string | null} id @param {boolean} scroll to it if necessary */
    focus: (id, scroll) => (opener(itemOf(list, id)) ?? byId("results-title")).focus({ preventScroll: !scroll }),
    /** Show the filters of these results again. @param {Entry} entry */
    reset: (entry) => filters.set(entry.choice),
    leave: filters.leave,
  };
}

const itemOf = (list, id) => [...list.querySelectorAll(".hit")].find((item) => item.dataset.id === id);
const opener = (item) => item?.querySelector(".hit-open");
const item = (text) => el("li", {}, text);

/** The results that are not hidden. @param {Entry} entry */
const kept = ({ answer, hidden }) => answer.hits.filter(({ id }) => !hidden.has(id));

/** The metadata of results and of the duplicates grouped under them. */
const metadataOf = (hits) => hits.flatMap((hit) => [hit, ...hit.duplicates]).map(({ metadata }) => metadata);

/** Results by date, those without a date last; equal dates keep their ranks. */
function sorted(hits, sort, fields) {
  if (sort === "rank" || !fields.length) return hits;
  const dateOf = ({ metadata }) => fields.map((name) => asText(metadata[name])).find((date) => /^\d{4}/u.test(date)) ?? "";
  const compare = (a, b) => (a === b ? 0 : !a ? 1 : !b ? -1 : (a < b ? -1 : 1) * (sort === "oldest" ? 1 : -1));
  return hits.toSorted((a, b) => compare(dateOf(a), dateOf(b)));
}

function summary({ hits, query_sentences: sentences, about, query }) {
  const yours = query.seeds.length > 1 ? "your documents" : "your document";
  return `Top ${count(hits.length)} of ${plural(about.documents, "document")} · ${yours}: ${plural(sentences, "sentence")}`;
}

function noResults({ filter }) {
  const why = conditionCount(filter) ? "No similar document matches the filters. Relax or clear them." : "No document here shares any words with yours.";
  return el("p", { class: "no-results" }, why);
}

/** One worked example with a picture, which is part of index.html. */
function workedExample() {
  return el("details", { class: "fold explain", id: "example" }, el("summary", {}, icon("chevron"), "How to read this"),
    byId("example-contents").content.cloneNode(true));
}

function technicalDetails({ about, candidates, seconds: each }) {
  const facts = { ...about, candidates, seconds: Object.entries(each).map(([stage, value]) => `${stage} ${value.toFixed(3)}`).join(", ") };
  const present = Object.entries(facts).filter(([, value]) => value !== null && value !== "");
  const rows = present.map(([name, value]) => el("div", {}, el("dt", {}, label(name)), el("dd", {}, asText(value))));
  return el("details", { class: "fold explain", id: "technical-details" },
    el("summary", {}, icon("chevron"), "Technical details"), el("dl", { class: "table" }, rows));
}
