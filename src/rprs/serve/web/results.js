/**
 * The second view: the ranked list, what to filter it by, and what to take away.
 * @module
 */

import { isAboutFilter } from "./ask.js";
import { announce, byId, el, fill, icon } from "./dom.js";
import { filterPanel, handiest } from "./filters.js";
import { hitItem } from "./hit.js";
import { showTrouble } from "./notice.js";
import { progressLine } from "./progress.js";
import { addressOf, nameOf, namesOf } from "./query.js";
import { linkButton, takeAwayMenu } from "./takeaway.js";
import { count, label, listed, seconds, several, shown } from "./words.js";

const WIDE = matchMedia("(min-width: 1000px)");

/** @typedef {import("./entries.js").Entry} Entry */

/**
 * @param {any} info of the index
 * @param {{rerun: (choice: import("./query.js").Choice) => void, open: (id: string) => void, edit: () => void,
 *   take: (format: string) => Promise<void>, keep: (entry: Entry) => void}} does `keep` is told what was dismissed or restored
 */
export function resultsView(info, does) {
  const head = el("header", { class: "results-head" });
  const progress = el("div", { id: "results-progress" });
  const trouble = el("div", { id: "results-trouble" });
  const list = el("div", { class: "list" });
  const tally = el("div"); // of what was dismissed
  const panel = el("div", { id: "results-filters" });
  const chevron = icon("chevron");
  chevron.classList.add("chevron");
  const badge = el("span", { class: "badge", hidden: true });
  const fold = el("details", { class: "side-fold" }, el("summary", {}, icon("filter"), el("span", {}, "Filters"), badge, chevron), panel);
  fill(byId("results"), head, el("div", { class: "results-body" },
    el("aside", { class: "side", "aria-label": "Filters" }, fold),
    el("div", { class: "list-side" }, progress, trouble, list)));
  const filters = filterPanel(panel, info, "filter", (choice) => does.rerun(choice));
  const order = handiest(info).map(({ name }) => name);
  const unfold = () => (fold.open = WIDE.matches);
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.target.tagName !== "INPUT") return;
    event.preventDefault();
    filters.take();
  });
  WIDE.addEventListener("change", unfold);
  unfold();

  /** @param {Entry} entry */
  function draw(entry) {
    const { query, choice, answer } = entry;
    const address = addressOf(query, choice);
    fill(head,
      el("p", { class: "kicker" }, "Documents like"),
      el("h1", { id: "results-title", tabindex: "-1" }, nameOf(query)),
      namesOf(query).length > 2 && el("p", { class: "seed-names" }, listed(namesOf(query))),
      answer && el("p", { class: "summary", id: "summary" }, summary(answer)),
      el("div", { class: "tools" },
        el("button", { type: "button", class: "button", id: "edit", on: { click: does.edit } }, icon("pen"), "Change the question"),
        answer ? [takeAwayMenu(does.take), ...linkButton(address)] : []));
    filters.set(choice);
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
      open: () => does.open(hit.id), dismiss: () => dismiss(entry, hit.id),
    }));
    fill(list,
      answer.notes.length > 0 && el("ul", { class: "notes", "aria-label": "Remarks" }, answer.notes.map(item)),
      tellDismissed(entry),
      items.length > 0 && el("ol", { class: "hits", id: "hits" }, items),
      !answer.hits.length && nothing(choice),
      answer.hits.length > 0 && Number.isFinite(best.qp) && reading(),
      settings(answer));
  }

  /** The line that counts what was dismissed of this list. @param {Entry} entry */
  function tellDismissed(entry) {
    const gone = entry.answer.hits.filter(({ id }) => entry.dismissed.has(id)).length;
    fill(tally, gone > 0 && restorer(entry, gone));
    return tally;
  }

  function restorer(entry, gone) {
    const restore = () => {
      entry.dismissed.clear();
      does.keep(entry);
      drawList(entry);
      announce("All results are shown again");
      byId("results-title").focus({ preventScroll: true });
    };
    return el("p", { class: "dismissed", id: "dismissed" }, `${count(gone)} dismissed — `,
      el("button", { type: "button", class: "linklike", id: "restore", on: { click: restore } }, "restore"));
  }

  function dismiss(entry, id) {
    const item = itemOf(list, id);
    const next = item.nextElementSibling ?? item.previousElementSibling;
    entry.dismissed.add(id);
    does.keep(entry);
    item.remove();
    tellDismissed(entry);
    announce(`Dismissed. ${several(entry.dismissed.size, "result")} dismissed in all.`);
    (opener(next) ?? byId("restore")).focus();
  }

  return {
    draw,
    /** A progress line while a question is under way; the list stays, dimmed. @param {() => void} cancel */
    busy(cancel) {
      fill(trouble);
      list.setAttribute("aria-busy", "true");
      const line = progressLine(progress, info.documents, cancel);
      const end = () => {
        line.end();
        if (!progress.firstChild) list.removeAttribute("aria-busy"); // another may have begun since
      };
      return { say: line.say, end };
    },
    /** @param {any} error @param {() => void} again */
    fail(error, again) {
      if (isAboutFilter(error)) {
        fold.open = true;
        filters.tell(error.message);
      } else showTrouble(trouble, error, { index: info.index, again });
    },
    /** Put the focus on a result, or on the heading. @param {string | null} id @param {boolean} scroll there, if it is out of sight */
    focus: (id, scroll) => (opener(itemOf(list, id)) ?? byId("results-title")).focus({ preventScroll: !scroll }),
    /** The form shows the choice of this list again. @param {Entry} entry */
    reset: (entry) => filters.set(entry.choice),
    leave: filters.leave,
  };
}

const itemOf = (list, id) => [...list.querySelectorAll(".hit")].find((item) => item.dataset.id === id);
const opener = (item) => item?.querySelector(".hit-open, .dismiss"); // the latter where nothing can be opened
const item = (text) => el("li", {}, text);
const greatest = (hits, name) => Math.max(...hits.map((hit) => hit[name] ?? -Infinity));

function summary({ hits, candidates, query_sentences: sentences, about, seconds: each }) {
  const whole = Object.values(each).reduce((sum, value) => sum + value, 0);
  return [`${count(hits.length)} of ${several(candidates, "candidate")}`, several(about.documents, "document"),
    `${several(sentences, "sentence")} asked`, seconds(whole)].join(" · ");
}

function nothing({ where }) {
  const why = where ? "No document like yours passes the filters. Loosen or clear them." : "No document of the index shares a word with yours.";
  return el("p", { class: "nothing" }, why);
}

function reading() {
  return el("details", { class: "fold explain" }, el("summary", {}, icon("chevron"), "How to read the bars"),
    el("p", {}, el("strong", {}, "Answers your document"), " (QP) is how much of your document this one answers: "
      + "the share of your sentences that have one of their nearest, among the sentences of all candidates, here."),
    el("p", {}, el("strong", {}, "Is about your document"), " (DP) is how much of this one is about yours: "
      + "the share of its sentences that are nearest to one of yours. RPRS ranks by the product of both."),
    el("p", {}, "A sentence with several matches counts for more than one with a single match, as the settings n, k1 and b say, "
      + "and all candidates compete for being nearest. So the numbers have no fixed 100 %: even a word-for-word copy stays below it. "
      + "Each bar is drawn relative to the greatest of this list."));
}

function settings({ about, seconds: each }) {
  const facts = { ...about, seconds: Object.entries(each).map(([stage, value]) => `${stage} ${value.toFixed(3)}`).join(", ") };
  const known = Object.entries(facts).filter(([, value]) => value !== null && value !== "");
  const rows = known.map(([name, value]) => el("div", {}, el("dt", {}, label(name)), el("dd", {}, shown(value))));
  return el("details", { class: "fold explain", id: "settings" },
    el("summary", {}, icon("chevron"), "Settings and fingerprint"), el("dl", { class: "table" }, rows));
}
