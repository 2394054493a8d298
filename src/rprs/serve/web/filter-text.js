/**
 * Filters: the conditions of the form and an advanced filter, written as one text in the filter language of the server.
 * Only the server parses that language.
 * @module
 */

/**
 * @typedef {{from?: string, to?: string, among?: string[], contains?: string}} Condition on one field
 * @typedef {{conditions: Record<string, Condition>, advanced: string, before?: string, undated?: string}} Filter
 *   `before` is a date limit: documents newer than the query by this field are left out; `undated` is keep or drop
 * @typedef {{name: string, kind: "date" | "number" | "text", documents: number, distinct: number, least: any, greatest: any,
 *   values: [any, number][]}} Field
 */

/** A value that the filter language cannot express because it contains both kinds of quotation marks. */
export class Unquotable extends Error {
  /** @param {string} field @param {string} value */
  constructor(field, value) {
    super(`A filter value cannot contain both kinds of quotation marks, as ${value} does: use a part of it with one kind at most.`);
    this.field = field;
  }
}

/** @type {Filter} */
export const NO_FILTER = { conditions: {}, advanced: "" };

const RESERVED = new Set(["and", "or", "not", "in", "missing", "present", "id", "title"]);
const NUMBER = /^[-+]?\d+(\.\d+)?$/u;
const DAY = /^\d{4}-\d\d-\d\d$/u;
const FEW = 5; // values offered as choices, however rare they are
const LAST_DAY = "9999-12-31";
const KEYS = { date: ["from", "to"], number: ["from", "to"], choice: ["among"], contains: ["contains", "among"] };

/** Whether the filter language can name this field. @param {string} name */
export const nameable = (name) => name !== "" && !name.includes('"');

/**
 * The kind of control for a field. Years alone are numbers; a choice lists all values; a field with too many of them is searched,
 * and lists those of the results.
 * @param {Field} field
 * @returns {"date" | "number" | "choice" | "contains"}
 */
export function styleOf({ kind, distinct, least, greatest, values }) {
  if (kind === "date") return [least, greatest].every((date) => String(date).length === 4) ? "number" : "date";
  if (kind === "number") return "number";
  const shared = distinct <= FEW || values[0]?.[1] > 1; // values of a single document each are searched, not listed
  return values.length && distinct <= values.length && shared ? "choice" : "contains";
}

/**
 * The text of a filter; null if it is empty. Throws Unquotable.
 * @param {Filter} filter
 * @returns {string | null}
 */
export function filterText({ conditions, advanced }) {
  const clauses = Object.entries(conditions).flatMap(([name, condition]) => clausesOf(name, condition));
  const text = advanced.trim();
  if (text) clauses.push(clauses.length ? `(${text})` : text);
  return clauses.length ? clauses.join(" and ") : null;
}

/** Number of conditions, including the date limit and the advanced filter. @param {Filter} filter */
export const conditionCount = ({ conditions, advanced, before }) =>
  Object.keys(conditions).length + (before ? 1 : 0) + (advanced.trim() ? 1 : 0);

/** The date limit as a request has it. @param {Filter} filter */
export const dateLimit = ({ before, undated }) => (before ? { before, undated: undated || "keep" } : {});

/** Whether a date limit can use a field: dates, or years that are numbers. @param {Field} field */
export const isDated = ({ kind, name }) => kind === "date" || (kind === "number" && /year|date/iu.test(name));

/**
 * The same filter for a form with these fields: conditions that it cannot show become part of the advanced filter.
 * @param {Filter} filter
 * @param {Field[]} fields
 * @returns {Filter}
 */
export function fitForm({ conditions, advanced, ...limit }, fields) {
  const fits = ([name, condition]) => {
    const field = fields.find((each) => each.name === name);
    if (!field || Object.keys(condition).some((key) => !KEYS[styleOf(field)].includes(key))) return false;
    const offered = new Set(field.values.map(([value]) => String(value)));
    return styleOf(field) === "contains" || (condition.among ?? []).every((value) => offered.has(value));
  };
  const entries = Object.entries(conditions);
  const others = Object.fromEntries(entries.filter((entry) => !fits(entry)));
  if (!Object.keys(others).length) return { conditions, advanced, ...limit };
  const text = filterText({ conditions: others, advanced }) ?? "";
  return { conditions: Object.fromEntries(entries.filter(fits)), advanced: text, ...limit };
}

function clausesOf(field, { from, to, among, contains }) {
  const name = quotedName(field);
  const clauses = [];
  if (from) clauses.push(`${name} >= ${DAY.test(from) ? shortest(from) : digits(from)}`);
  if (to && DAY.test(to)) clauses.push(...(to < LAST_DAY ? [`${name} < ${shortest(dayAfter(to))}`] : []));
  else if (to) clauses.push(`${name} <= ${digits(to)}`);
  if (among?.length) clauses.push(`${name} in (${among.map((value) => quoted(field, value)).join(", ")})`);
  if (contains?.trim()) clauses.push(`${name} ~ ${quoted(field, contains.trim())}`);
  return clauses;
}

const quotedName = (name) => (/^[\p{L}\d_.-]+$/u.test(name) && !RESERVED.has(name.toLowerCase()) ? name : `"${name}"`);

/** Always quoted, so that a value that looks like a number is compared as text. */
function quoted(field, value) {
  if (!value.includes('"')) return `"${value}"`;
  if (!value.includes("'")) return `'${value}'`;
  throw new Unquotable(field, value);
}

/** Number inputs also accept 1e4 and .5, which the filter language would read as words. */
const digits = (number) =>
  NUMBER.test(number) ? number : Number(number).toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 });

/** Dates are compared as text: 2016-01-01 becomes 2016, so that a document dated 2016 counts as of that year. */
const shortest = (day) => day.replace(/(-01){1,2}$/u, "");

/** The exclusive bound after a last day, so that times on that day are included. */
function dayAfter(day) {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + 1);
  return date.toISOString().slice(0, 10);
}
