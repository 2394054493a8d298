/**
 * How many results, and of which documents: the fields of the index's metadata as a form.
 * @module
 */

import { el, fill } from "./dom.js";
import { compose, conditionCount, decompose, nameable, styleOf, Unquotable } from "./where.js";
import { count, label, shown } from "./words.js";

/** @typedef {import("./where.js").Field} Field */
/** @typedef {import("./query.js").Choice} Choice */

const FIRST = 6; // fields that are not folded
const AMOUNTS = [5, 10, 20, 50, 100, 200, 500];
const PAUSE = 500; // milliseconds: a date is typed in parts
const ORDER = ["date", "choice", "number", "contains"];
const UNSEEN = new Set(["path"]);

/**
 * A form of filters in `root`.
 * @param {Element} root
 * @param {{documents: number, fields: Field[], settings: {depth: number}}} info
 * @param {string} prefix of ids
 * @param {(choice: Choice) => void} changed is told every choice that differs from the last
 */
export function filterPanel(root, info, prefix, changed) {
  const fields = filterable(info);
  const wrong = el("p", { class: "wrong", id: `${prefix}-wrong`, role: "alert" });
  const clearAll = () => apply({ ...choice, where: null });
  const clear = el("button", { type: "button", class: "quiet small", on: { click: clearAll } }, "Clear the filters");
  /** @type {Choice} */
  let choice = { k: 10, where: null };
  let timer = 0;

  function draw() {
    const filter = decompose(choice.where, fields);
    const controls = fields.map((field) => control(field, filter.conditions[field.name] ?? {}, prefix));
    const more = controls.slice(FIRST);
    const used = fields.slice(FIRST).some(({ name }) => name in filter.conditions);
    fill(root, el("div", { class: "filters" },
      amount(choice.k, info.settings.depth, prefix),
      controls.slice(0, FIRST),
      more.length > 0 && fold(`${count(more.length)} more fields`, used, more),
      fold("Expert filter", Boolean(filter.expert), [expert(filter.expert, prefix)]),
      clear));
    tell("");
  }

  /** Say beside a field what is wrong with it; nothing takes it back. */
  function tell(message, name = "expert") {
    const place = root.querySelector(`[data-field="${CSS.escape(name)}"]`);
    for (const input of root.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
    wrong.textContent = message;
    place.append(wrong);
    clear.hidden = !choice.where && !message;
    if (!message) return;
    for (const input of place.querySelectorAll("input")) input.setAttribute("aria-invalid", "true");
    if (place.closest("details.more")) place.closest("details.more").open = true;
    wrong.scrollIntoView({ block: "nearest" });
  }

  /** Whether a change was still to be taken, which it no longer is. */
  function stop() {
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

  /** Take what the form says now; false where it cannot be said, which is told. */
  function take() {
    stop();
    try {
      const next = read(root, fields, prefix);
      if (next.k === choice.k && next.where === choice.where) return true;
      choice = next;
      tell("");
      changed(choice);
      return true;
    } catch (error) {
      if (!(error instanceof Unquotable)) throw error;
      tell(error.message, `field ${error.field}`);
      return false;
    }
  }

  root.addEventListener("change", () => {
    stop();
    timer = setTimeout(take, PAUSE);
  });
  draw();
  return {
    take,
    tell,
    choice: () => choice,
    conditions: () => conditionCount(choice.where, fields),
    /** Show another choice. @param {Choice} next */
    set(next) {
      if (next.k === choice.k && next.where === choice.where) return tell("");
      choice = next;
      draw();
    },
    /** The person is elsewhere: a change that was not taken yet never will be. */
    leave: () => stop() && draw(),
  };
}

/** Whether a field tells documents apart. */
const telling = ({ distinct, documents }, all) => distinct > 1 || documents < all;

/** The fields, the handiest first; last what is the same for all documents. @param {{documents: number, fields: Field[]}} info */
export function handiest({ documents, fields }) {
  const rank = (field) => (telling(field, documents) ? ORDER.indexOf(styleOf(field)) : ORDER.length);
  return [...fields].sort((a, b) => rank(a) - rank(b) || b.documents - a.documents);
}

const filterable = (info) =>
  handiest(info).filter((field) => nameable(field.name) && !UNSEEN.has(field.name) && telling(field, info.documents));

/** Read the form. @returns {Choice} */
function read(root, fields, prefix) {
  const value = (id) => root.querySelector(`#${CSS.escape(id)}`)?.value.trim() ?? "";
  const conditions = {};
  fields.forEach((field) => {
    const id = `${prefix}-${field.name}`;
    const boxes = root.querySelectorAll(`input[type=checkbox][name="${CSS.escape(id)}"]:checked`);
    const chosen = [...boxes].map((box) => box.value);
    const condition = { from: value(`${id}-from`), to: value(`${id}-to`), contains: value(`${id}-has`), among: chosen };
    if (condition.from || condition.to || condition.contains || chosen.length) conditions[field.name] = condition;
  });
  return { k: Number(value(`${prefix}-k`)), where: compose({ conditions, expert: value(`${prefix}-expert`) }, fields) };
}

// ---------------------------------------------------------------------------- controls

function amount(k, depth, prefix) {
  const amounts = [...new Set([...AMOUNTS.filter((value) => value <= depth), k])].sort((a, b) => a - b);
  const options = amounts.map((value) => el("option", { value, selected: value === k }, count(value)));
  return el("div", { class: "field short" },
    el("label", { for: `${prefix}-k` }, "Number of results"), el("select", { id: `${prefix}-k` }, options));
}

function expert(text, prefix) {
  return el("div", { class: "field", dataset: { field: "expert" } },
    el("label", { for: `${prefix}-expert` }, "Filter as text"),
    el("input", {
      type: "text", id: `${prefix}-expert`, value: text, spellcheck: "false", autocomplete: "off", class: "code",
      "aria-describedby": `${prefix}-expert-hint ${prefix}-wrong`,
    }),
    el("p", { class: "hint", id: `${prefix}-expert-hint` },
      "For example ", el("code", {}, "date < 2016-01-01 and not (court in (ca2, ca9) or title ~ lease)")));
}

function fold(title, open, children) {
  return el("details", { class: "more", open }, el("summary", {}, title), children);
}

/** @param {Field} field */
function control(field, condition, prefix) {
  const id = `${prefix}-${field.name}`;
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
    bound("from", from, shown(field.least)), bound("to", to, shown(field.greatest)),
    el("p", { class: "hint" }, `${shown(field.least).slice(0, 10)} to ${shown(field.greatest).slice(0, 10)}`));
}

function choice(field, { among = [] }, id) {
  const chosen = new Set(among);
  const boxes = field.values.map(([value, times]) => el("label", { class: "tick" },
    el("input", { type: "checkbox", name: id, value: shown(value), checked: chosen.has(shown(value)) }),
    el("span", {}, shown(value) || "(empty)"), el("span", { class: "times" }, count(times))));
  return el("fieldset", { class: "field choice", dataset: { field: `field ${field.name}` } },
    el("legend", {}, label(field.name)), el("div", { class: "ticks" }, boxes));
}

function contains(field, condition, id) {
  return el("div", { class: "field", dataset: { field: `field ${field.name}` } },
    el("label", { for: `${id}-has` }, `${label(field.name)} contains`),
    el("input", { type: "text", id: `${id}-has`, value: condition.contains ?? "", autocomplete: "off", spellcheck: "false" }));
}
