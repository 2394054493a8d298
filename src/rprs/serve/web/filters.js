/**
 * The filter form: number of results, and conditions on the metadata fields of the index.
 * @module
 */

import { el, fill } from "./dom.js";
import { DEFAULT_CHOICE } from "./query.js";
import { conditionCount, dateLimit, filterText, fitForm, isDated, nameable, NO_FILTER, styleOf, Unquotable } from "./filter-text.js";
import { asText, count, label } from "./format.js";
import { binsOf, histogram } from "./histogram.js";

/** @typedef {import("./filter-text.js").Field} Field */
/** @typedef {import("./query.js").Choice} Choice */

const FIRST = 6; // fields outside the fold
const AMOUNTS = [5, 10, 20, 50, 100, 200, 500];
const PAUSE = 500; // milliseconds, because a date is typed in parts
const LONGEST = 80; // characters of a value that is listed
const ORDER = ["date", "choice", "number", "contains"];
const HIDDEN = new Set(["path"]);

/**
 * A filter form in `root`.
 * @param {Element} root
 * @param {{documents: number, fields: Field[], settings: {depth: number}}} info
 * @param {string} prefix of ids
 * @param {(choice: Choice) => void} changed called with every new choice
 */
export function filterPanel(root, info, prefix, changed) {
  const fields = filterable(info);
  const error = el("p", { class: "field-error", id: `${prefix}-error`, role: "alert" });
  const clearAll = () => apply({ ...choice, filter: NO_FILTER });
  const clear = el("button", { type: "button", class: "quiet small", on: { click: clearAll } }, "Clear filters");
  /** @type {Choice} */
  let choice = DEFAULT_CHOICE;
  let offered = info.fields.filter(isDated).map(({ name }) => name); // fields for a date limit
  let listed = /** @type {Record<string, unknown>[] | null} */ (null); // the metadata of the results that are listed
  let timer = 0;

  function draw() {
    const filter = fitForm(choice.filter, fields);
    const controls = fields.map((field) => control(field, filter.conditions[field.name] ?? {}, `${prefix}-${field.name}`));
    const more = controls.slice(FIRST);
    const used = fields.slice(FIRST).some(({ name }) => name in filter.conditions);
    fill(root, el("div", { class: "filters" },
      amount(choice.k, info.settings.depth, prefix),
      boilerplateSwitch(choice.boilerplate, prefix),
      controls.slice(0, FIRST),
      more.length > 0 && fold(`${count(more.length)} more fields`, used, more),
      fold("Advanced filter", Boolean(filter.advanced || filter.before), [
        dateLimits(filter, offered, prefix), advanced(filter.advanced, prefix),
      ]),
      clear));
    showError("");
    recount();
  }

  /** Count the listed results: beside each value, and in the histograms. */
  function recount() {
    if (!listed) return;
    const focused = document.activeElement?.closest(".histogram") && document.activeElement.closest("[data-field]");
    for (const field of fields) {
      const place = root.querySelector(`[data-field="${CSS.escape(`field ${field.name}`)}"]`);
      const texts = listed.map((metadata) => asText(metadata[field.name]));
      const box = place.querySelector(".ticks");
      if (box) countValues(box, texts, styleOf(field) === "contains" ? `${prefix}-${field.name}` : null);
      if (!isDated(field)) continue;
      const restrict = ({ from, to }) => apply(withCondition(choice, field.name, { from, to }));
      const chart = histogram(label(field.name), binsOf(texts, styleOf(field) !== "date"), restrict);
      fill(place.querySelector(".histogram-box"), chart);
      if (place.dataset.field === focused?.dataset.field) chart?.querySelector("button:enabled")?.focus();
    }
  }

  /** Show an error beside a field; an empty message removes it. */
  function showError(message, name = "advanced") {
    const place = root.querySelector(`[data-field="${CSS.escape(name)}"]`);
    for (const input of root.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
    error.textContent = message;
    place.append(error);
    clear.hidden = !conditionCount(choice.filter) && !message;
    if (!message) return;
    for (const input of place.querySelectorAll("input, select")) input.setAttribute("aria-invalid", "true");
    if (place.closest("details.more")) place.closest("details.more").open = true;
    error.scrollIntoView({ block: "nearest" });
  }

  /** Discard a change that is not applied yet; whether there was one. */
  function discard() {
    const pending = timer > 0;
    clearTimeout(timer);
    timer = 0;
    return pending;
  }

  function apply(next) {
    choice = next;
    draw();
    changed(choice);
  }

  /** Apply the form; false if it is invalid, with an error beside the field. */
  function applyForm() {
    discard();
    try {
      const next = { ...choice, ...read(root, fields, prefix) };
      if (isSame(next, choice)) return true;
      choice = next;
      showError("");
      changed(choice);
      return true;
    } catch (problem) {
      if (!(problem instanceof Unquotable)) throw problem;
      showError(problem.message, `field ${problem.field}`);
      return false;
    }
  }

  root.addEventListener("change", () => {
    discard();
    timer = setTimeout(applyForm, PAUSE);
  });
  draw();
  return {
    applyForm,
    showError,
    choice: () => choice,
    conditions: () => conditionCount(choice.filter),
    /**
     * Show another choice. @param {Choice} next
     * @param {{dated?: string[], results?: Record<string, unknown>[] | null}} [state] the fields that are dates of the query, for
     *   which a date limit is offered; and the metadata of the listed results, which are counted
     */
    set(next, { dated = offered, results = listed } = {}) {
      const isNew = !isSame(next, choice) || dated.join() !== offered.join();
      [choice, offered, listed] = [next, dated, results];
      if (isNew) draw();
      else {
        showError("");
        recount();
      }
    },
    /** The view is left: discard a change that is not applied yet. */
    leave: () => discard() && draw(),
  };
}

const isSame = (one, other) => keyOf(one) === keyOf(other);
const keyOf = ({ k, filter, boilerplate }) => JSON.stringify([k, filterText(filter), dateLimit(filter), boilerplate]);

/** @param {Choice} choice */
const withCondition = (choice, name, condition) => ({ ...choice, filter: { ...choice.filter, conditions: { ...choice.filter.conditions, [name]: condition } } });

/**
 * Show how often each value is in the list, the most frequent first. A field with more values than can be offered offers those of
 * the list, if some have a value in common.
 * @param {Element} box @param {string[]} texts of all results @param {string | null} open the name of the boxes of such a field
 */
function countValues(box, texts, open) {
  const times = new Map();
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
  const timesOf = (tick) => times.get(valueOf(tick)) ?? 0;
  let ticks = [...box.children];
  if (open) {
    const values = [...times.keys()].filter((value) => value && value.length <= LONGEST);
    const offered = new Set(values.some((value) => times.get(value) > 1) ? values : []);
    ticks = ticks.filter((each) => offered.has(valueOf(each)) || each.querySelector(":checked"));
    const present = new Set(ticks.map(valueOf));
    ticks.push(...[...offered].filter((value) => !present.has(value)).map((value) => tick(value, open, false)));
  }
  for (const each of ticks) {
    each.classList.toggle("none", !timesOf(each));
    each.querySelector(".times").textContent = count(timesOf(each));
  }
  arrange(box, ticks.toSorted((a, b) => timesOf(b) - timesOf(a) || valueOf(a).localeCompare(valueOf(b))));
}

const valueOf = (tick) => tick.querySelector("input").value;

/** Put elements into a box in this order; the one with the focus is not moved, as it would lose it. */
function arrange(box, elements) {
  const at = elements.findIndex((element) => element.contains(document.activeElement));
  if (at < 0) return box.replaceChildren(...elements);
  for (const child of [...box.children]) if (!elements.includes(child)) child.remove();
  elements[at].before(...elements.slice(0, at));
  elements[at].after(...elements.slice(at + 1));
}

/** Whether a field distinguishes documents. */
const isDistinctive = ({ distinct, documents }, all) => distinct > 1 || documents < all;

/** The fields, most useful first; fields that are the same for all documents come last. @param {{documents: number, fields: Field[]}} info */
export function mostUseful({ documents, fields }) {
  const rank = (field) => (isDistinctive(field, documents) ? ORDER.indexOf(styleOf(field)) : ORDER.length);
  return [...fields].sort((a, b) => rank(a) - rank(b) || b.documents - a.documents);
}

const filterable = (info) =>
  mostUseful(info).filter((field) => nameable(field.name) && !HIDDEN.has(field.name) && isDistinctive(field, info.documents));

/** Read the form. */
function read(root, fields, prefix) {
  const value = (id) => root.querySelector(`#${CSS.escape(id)}`)?.value.trim() ?? "";
  const conditions = {};
  fields.forEach((field) => {
    const id = `${prefix}-${field.name}`;
    const boxes = root.querySelectorAll(`input[type=checkbox][name="${CSS.escape(id)}"]:checked`);
    const chosen = [...boxes].map((box) => box.value);
    const inputs = { from: value(`${id}-from`), to: value(`${id}-to`), contains: value(`${id}-has`), among: chosen };
    const condition = Object.fromEntries(Object.entries(inputs).filter(([, input]) => input.length));
    if (Object.keys(condition).length) conditions[field.name] = condition;
  });
  const undated = root.querySelector(`#${prefix}-undated`)?.checked ? "drop" : "keep";
  const filter = { conditions, advanced: value(`${prefix}-advanced`), before: value(`${prefix}-before`), undated };
  filterText(filter); // throws if a value cannot be expressed
  return { k: Number(value(`${prefix}-k`)), filter, boilerplate: root.querySelector(`#${prefix}-boilerplate`).checked };
}

// ---------------------------------------------------------------------------- controls

function amount(k, depth, prefix) {
  const amounts = [...new Set([...AMOUNTS.filter((value) => value <= depth), k])].sort((a, b) => a - b);
  const options = amounts.map((value) => el("option", { value, selected: value === k }, count(value)));
  return el("div", { class: "field short" },
    el("label", { for: `${prefix}-k` }, "Number of results"), el("select", { id: `${prefix}-k` }, options));
}

function boilerplateSwitch(checked, prefix) {
  const help = "Captions, headings, citations and phrases that many documents here have";
  return el("div", { class: "field" }, el("div", {}, el("label", { class: "tick", title: help },
    el("input", { type: "checkbox", id: `${prefix}-boilerplate`, checked }), el("span", {}, "Include boilerplate"))));
}

/** The date limit: none, or a field that both the query and the documents have. */
function dateLimits({ before = "", undated }, fields, prefix) {
  const names = [...new Set([...fields, before])].filter(Boolean);
  if (!names.length) return null;
  const option = (name, text) => el("option", { value: name, selected: name === before }, text);
  return el("div", { class: "field", dataset: { field: "before" } },
    el("label", { for: `${prefix}-before` }, "Only documents not newer than mine"),
    el("select", { id: `${prefix}-before`, "aria-describedby": `${prefix}-error` },
      option("", "No date limit"), names.map((name) => option(name, `By ${label(name)}`))),
    el("div", {}, el("label", { class: "tick" },
      el("input", { type: "checkbox", id: `${prefix}-undated`, checked: undated === "drop" }),
      el("span", {}, "Leave out documents without a date"))));
}

function advanced(text, prefix) {
  return el("div", { class: "field", dataset: { field: "advanced" } },
    el("label", { for: `${prefix}-advanced` }, "Filter as text"),
    el("input", {
      type: "text", id: `${prefix}-advanced`, value: text, spellcheck: "false", autocomplete: "off", class: "code",
      "aria-describedby": `${prefix}-advanced-hint ${prefix}-error`,
    }),
    el("p", { class: "hint", id: `${prefix}-advanced-hint` },
      "For example ", el("code", {}, "date < 2016-01-01 and not (court in (ca2, ca9) or title ~ lease)")));
}

function fold(title, open, children) {
  return el("details", { class: "more", open }, el("summary", {}, title), children);
}

/** @param {Field} field */
function control(field, condition, id) {
  return { date: range, number: range, choice, contains }[styleOf(field)](field, condition, id);
}

function range(field, { from = "", to = "" }, id) {
  const date = styleOf(field) === "date";
  const bound = (end, value, hint) => el("label", {}, el("span", {}, end === "from" ? "from" : "to"),
    el("input", {
      type: date ? "date" : "number", step: date ? null : "any", max: date ? "9999-12-31" : null,
      id: `${id}-${end}`, value, placeholder: hint,
    }));
  return el("fieldset", { class: "field range", dataset: { field: `field ${field.name}` } }, el("legend", {}, label(field.name)),
    el("div", { class: "histogram-box" }),
    bound("from", from, asText(field.least)), bound("to", to, asText(field.greatest)),
    el("p", { class: "hint" }, `${asText(field.least).slice(0, 10)} to ${asText(field.greatest).slice(0, 10)}`));
}

/** Values with the number of documents that have them; in the results view, of listed results. */
function choice(field, { among = [] }, id) {
  const chosen = new Set(among);
  const boxes = field.values.map(([value, times]) => tick(asText(value), id, chosen.has(asText(value)), times));
  return el("fieldset", { class: "field choice", dataset: { field: `field ${field.name}` } },
    el("legend", {}, label(field.name)), el("div", { class: "ticks" }, boxes));
}

function tick(value, name, checked, times = 0) {
  return el("label", { class: "tick" }, el("input", { type: "checkbox", name, value, checked }),
    el("span", {}, value || "(empty)"), el("span", { class: "times" }, count(times)));
}

function contains(field, { contains: words = "", among = [] }, id) {
  return el("div", { class: "field", dataset: { field: `field ${field.name}` } },
    el("label", { for: `${id}-has` }, `${label(field.name)} contains`),
    el("input", { type: "text", id: `${id}-has`, value: words, autocomplete: "off", spellcheck: "false" }),
    el("div", { class: "ticks", role: "group", "aria-label": `${label(field.name)} of the results` }, among.map((value) => tick(value, id, true))));
}
