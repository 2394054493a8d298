/**
 * The results view: ranking, filters and export.
 * @module
 */

import { announce, byId, el, fill, icon } from "./dom.js";
import { exportMenu, linkButton } from "./export.js";
import { conditionCount, isDated } from "./filter-text.js";
import { filterPanel, mostUseful } from "./filters.js";
import { asText, count, label, joinList, seconds, plural } from "./format.js";
import { hitItem } from "./hit.js";
import { showError } from "./notice.js";
import { progressLine } from "./progress.js";
import { addressOf, queryName, documentNames } from "./query.js";
import { rejectedControl } from "./search-form.js";

const WIDE = matchMedia("(min-width: 1000px)");

/** @typedef {import("./history.js").Entry} Entry */

/**
 * @param {any} info of the index
 * @param {{rerun: (choice: import("./query.js").Choice) => void, open: (id: string) => void, edit: () => void,
 *   exportAs: (format: string) => Promise<void>, keep: (entry: Entry) => void}} actions `keep` stores what was dismissed or restored
 */
export function resultsView(info, actions) {
  const head = el("header", { class: "results-head" });
  const progress = el("div", { id: "results-progress" });
  const errorBox = el("div", { id: "results-error" });
  const list = el("div", { class: "list" });
  const tally = el("div"); // number of dismissed results
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
  const dated = info.fields.filter(isDated).map(({ name }) => name);
  const datesOf = ({ seeds }) => dated.filter((name) => seeds.some(({ metadata }) => /^\d{4}/u.test(asText(metadata[name]))));
  const unfold = () => (fold.open = WIDE.matches);
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.target.tagName !== "INPUT") return;
    event.preventDefault();
    filters.applyForm();
  });
  WIDE.addEventListener("change", unfold);
  unfold();

  /** @param {Entry} entry */
  function draw(entry) {
    const { query, choice, answer } = entry;
    const address = addressOf(query, choice);
    fill(head,
      el("p", { class: "kicker" }, "Documents similar to"),
      el("h1", { id: "results-title", tabindex: "-1" }, queryName(query)),
      documentNames(query).length > 2 && el("p", { class: "seed-names" }, joinList(documentNames(query))),
      answer && el("p", { class: "summary", id: "summary" }, summary(answer)),
      el("div", { class: "tools" },
        el("button", { type: "button", class: "button", id: "edit", on: { click: actions.edit } }, icon("pen"), "Edit search"),
        answer ? [exportMenu(actions.exportAs), ...linkButton(address)] : []));
    filters.set(choice, answer ? datesOf(answer.query) : undefined);
    const conditions = filters.conditions();
    badge.hidden = !conditions;
    badge.textContent = count(conditions);
    if (answer) drawList(entry);
    else fill(list);
  }

  /** @param {Entry} entry */
  function drawList(entry) {
    const { answer, query, choice, dismissed } = entry;
    const best = { qp: greatest(answer.hits, "qp"), dp: greatest(answer.hits, "dp") };
    const kept = answer.hits.filter(({ id }) => !dismissed.has(id));
    const items = kept.map((hit) => hitItem(hit, {
      best, order, reranked: answer.about.rerank !== null, address: addressOf(query, choice, hit.id),
      open: () => actions.open(hit.id), dismiss: () => dismiss(entry, hit.id),
    }));
    fill(list,
      answer.notes.length > 0 && el("ul", { class: "notes", "aria-label": "Notes" }, answer.notes.map(item)),
      dismissedLine(entry),
      items.length > 0 && el("ol", { class: "hits", id: "hits" }, items),
      !answer.hits.length && noResults(choice),
      answer.hits.length > 0 && Number.isFinite(best.qp) && barsHelp(),
      technicalDetails(answer));
  }

  /** A line with the number of dismissed results. @param {Entry} entry */
  function dismissedLine(entry) {
    const gone = entry.answer.hits.filter(({ id }) => entry.dismissed.has(id)).length;
    fill(tally, gone > 0 && restorer(entry, gone));
    return tally;
  }

  function restorer(entry, gone) {
    const restore = () => {
      entry.dismissed.clear();
      actions.keep(entry);
      drawList(entry);
      announce("All results are restored");
      byId("results-title").focus({ preventScroll: true });
    };
    return el("p", { class: "dismissed", id: "dismissed" }, `${count(gone)} dismissed · `,
      el("button", { type: "button", class: "linklike", id: "restore", on: { click: restore } }, "restore"));
  }

  function dismiss(entry, id) {
    const item = itemOf(list, id);
    const next = item.nextElementSibling ?? item.previousElementSibling;
    entry.dismissed.add(id);
    actions.keep(entry);
    item.remove();
    dismissedLine(entry);
    announce(`Dismissed. ${plural(entry.dismissed.size, "result")} dismissed in all.`);
    (opener(next) ?? byId("restore")).focus();
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
    /** @param {any} error @param {() => void} again */
    fail(error, again) {
      const control = rejectedControl(error);
      if (control) {
        fold.open = true;
        filters.showError(error.message, control);
      } else showError(errorBox, error, { index: info.index, again });
    },
    /** Focus a result, or the heading. @param {string | null} id @param {boolean} scroll to it if necessary */
    focus: (id, scroll) => (opener(itemOf(list, id)) ?? byId("results-title")).focus({ preventScroll: !scroll }),
    /** Show the filters of these results again. @param {Entry} entry */
    reset: (entry) => filters.set(entry.choice),
    leave: filters.leave,
  };
}

const itemOf = (list, id) => [...list.querySelectorAll(".hit")].find((item) => item.dataset.id === id);
const opener = (item) => item?.querySelector(".hit-open, .dismiss"); // the latter if nothing can be opened
const item = (text) => el("li", {}, text);
const greatest = (hits, name) => Math.max(...hits.map((hit) => hit[name] ?? -Infinity));

function summary({ hits, candidates, query_sentences: sentences, about, seconds: each }) {
  const whole = Object.values(each).reduce((sum, value) => sum + value, 0);
  return [`${count(hits.length)} of ${plural(candidates, "candidate")}`, plural(about.documents, "document"),
    `${plural(sentences, "sentence")} in the query`, seconds(whole)].join(" · ");
}

function noResults({ filter }) {
  const why = conditionCount(filter) ? "No similar document matches the filters. Relax or clear them." : "No document in the index shares a word with yours.";
  return el("p", { class: "no-results" }, why);
}

function barsHelp() {
  return el("details", { class: "fold explain" }, el("summary", {}, icon("chevron"), "How to read the bars"),
    el("p", {}, el("strong", {}, "Share of your document found here"), " (QP): the share of your sentences that have "
      + "one of their nearest neighbours, among the sentences of all candidates, in this document."),
    el("p", {}, el("strong", {}, "Share of this document that relates to yours"), " (DP): the share of its sentences "
      + "that are among the nearest neighbours of one of yours."),
    el("p", {}, "All candidates compete to be nearest, so even a close relative of your document may stay below 1. If the setting k1 is above 0, "
      + "a sentence with several matches counts more than one with a single match. Each bar is drawn relative to the largest in these results."),
    el("p", {}, "The default system ranks by the words and phrases that both documents share, and by DP. A result without matching "
      + "sentences owes its rank to its words. RPRS on its own ranks by the product of QP and DP."));
}

function technicalDetails({ about, seconds: each }) {
  const facts = { ...about, seconds: Object.entries(each).map(([stage, value]) => `${stage} ${value.toFixed(3)}`).join(", ") };
  const present = Object.entries(facts).filter(([, value]) => value !== null && value !== "");
  const rows = present.map(([name, value]) => el("div", {}, el("dt", {}, label(name)), el("dd", {}, asText(value))));
  return el("details", { class: "fold explain", id: "technical-details" },
    el("summary", {}, icon("chevron"), "Technical details"), el("dl", { class: "table" }, rows));
}
