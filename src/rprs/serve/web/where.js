/**
 * The filter language of the index, written from the fields of a form and read back into them.
 *
 * A filter is kept as its text alone: what `compose` writes, `decompose` reads, and what else a text holds is the expert's.
 * @module
 */

/**
 * @typedef {{from?: string, to?: string, among?: string[], contains?: string}} Condition
 * @typedef {{conditions: Record<string, Condition>, expert: string}} Filter
 * @typedef {{name: string, kind: "date" | "number" | "text", documents: number, distinct: number, least: any, greatest: any,
 *   values: [any, number][]}} Field
 * @typedef {{kind: "quoted" | "mark" | "operator" | "word", text: string, start: number, end: number}} Token
 */

/** A value that the language has no way to write, since it holds both kinds of quotes. */
export class Unquotable extends Error {
  /** @param {string} field @param {string} value */
  constructor(field, value) {
    super(`A filter cannot hold both kinds of quotation marks, as ${value} does: use a part of it with one kind at most.`);
    this.field = field;
  }
}

const RESERVED = new Set(["and", "or", "not", "in", "missing", "present", "id", "title"]);
const NUMBER = /^[-+]?\d+(\.\d+)?$/u;
const DATE = /^\d{4}(-\d\d){0,2}$/u;
const FEW = 5; // values that are chosen from, however rare
const LAST_DAY = "9999-12-31";
const TOKEN = /\s*(?:(?<quoted>"[^"]*"|'[^']*')|(?<mark>[(),])|(?<operator><=|>=|!=|<>|==|=|<|>|~)|(?<word>[^\s(),<>=!~"']+))/uy;

/** Whether the language can name this field. @param {string} name */
export const nameable = (name) => name !== "" && !name.includes('"');

/**
 * How a person filters by a field. Years alone are numbers; a choice has all values to choose from.
 * @param {Field} field
 * @returns {"date" | "number" | "choice" | "contains"}
 */
export function styleOf({ kind, distinct, least, greatest, values }) {
  if (kind === "date") return [least, greatest].every((date) => String(date).length === 4) ? "number" : "date";
  if (kind === "number") return "number";
  const shared = distinct <= FEW || values[0]?.[1] > 1; // a value that only one document has is not chosen, but looked for
  return values.length && distinct <= values.length && shared ? "choice" : "contains";
}

/**
 * The text of a filter; null where nothing is filtered. Throws Unquotable.
 * @param {Filter} filter
 * @param {Field[]} fields
 * @returns {string | null}
 */
export function compose(filter, fields) {
  const parts = fields.flatMap((field) => clauses(field, filter.conditions[field.name] ?? {}));
  const expert = filter.expert.trim();
  if (expert) parts.push(parts.length ? `(${expert})` : expert);
  return parts.length ? parts.join(" and ") : null;
}

/**
 * The form's fields that make this text; what is no clause of theirs is the expert's part.
 * @param {string | null} where
 * @param {Field[]} fields
 * @returns {Filter}
 */
export function decompose(where, fields) {
  const source = where ?? "";
  const parts = conjuncts(source);
  if (!parts) return { conditions: {}, expert: source };
  const conditions = {};
  const others = parts.filter((part) => !recognise(part, fields, conditions));
  const text = (part) => source.slice(part[0].start, part.at(-1).end);
  const expert = others.length === 1 && enclosed(others[0]) ? text(others[0]).slice(1, -1) : others.map(text).join(" and ");
  return { conditions, expert };
}

/** How many fields, the expert's among them, a filter has. @param {string | null} where @param {Field[]} fields */
export function conditionCount(where, fields) {
  const { conditions, expert } = decompose(where, fields);
  return Object.keys(conditions).length + (expert.trim() ? 1 : 0);
}

// ---------------------------------------------------------------------------- writing

function clauses(field, { from, to, among, contains }) {
  const name = quotedName(field.name);
  const written = [];
  if (styleOf(field) === "date") {
    if (from) written.push(`${name} >= ${shortest(from)}`);
    if (to && to < LAST_DAY) written.push(`${name} < ${shortest(dayAfter(to))}`);
  } else {
    if (from) written.push(`${name} >= ${digits(from)}`);
    if (to) written.push(`${name} <= ${digits(to)}`);
  }
  if (among?.length) written.push(`${name} in (${among.map((value) => quoted(field.name, value)).join(", ")})`);
  if (contains?.trim()) written.push(`${name} ~ ${quoted(field.name, contains.trim())}`);
  return written;
}

const quotedName = (name) => (/^[\p{L}\d_.-]+$/u.test(name) && !RESERVED.has(name.toLowerCase()) ? name : `"${name}"`);

/** Quoted always, so that a value which looks like a number is compared as text. */
function quoted(field, value) {
  if (!value.includes('"')) return `"${value}"`;
  if (!value.includes("'")) return `'${value}'`;
  throw new Unquotable(field, value);
}

/** A field for numbers also takes 1e4 and .5, which the language would read as words. */
const digits = (number) =>
  NUMBER.test(number) ? number : Number(number).toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 });

/** Dates are compared as text: 2016-01-01 as 2016, so that a document dated 2016 is of that year. */
const shortest = (day) => day.replace(/(-01){1,2}$/u, "");

/** The bound above a last day, so that times of that day lie below it. */
function dayAfter(day, step = 1) {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + step);
  return date.toISOString().slice(0, 10);
}

// ---------------------------------------------------------------------------- reading

/** The tokens between the "and"s that stand outside brackets; null for a text that is no list of these. */
function conjuncts(source) {
  const found = tokens(source);
  if (!found) return null;
  const parts = [[]];
  let depth = 0;
  for (const token of found) {
    const word = token.kind === "word" ? token.text.toLowerCase() : "";
    if (token.kind === "mark") depth += { "(": 1, ")": -1, ",": 0 }[token.text];
    if (depth < 0 || (depth === 0 && word === "or")) return null;
    if (depth === 0 && word === "and") parts.push([]);
    else parts.at(-1).push(token);
  }
  if (depth || (found.length && parts.some((part) => !part.length))) return null;
  return found.length ? parts : [];
}

/** @returns {Token[] | null} */
function tokens(source) {
  const found = [];
  TOKEN.lastIndex = 0;
  const end = source.trimEnd().length;
  while (TOKEN.lastIndex < end) {
    const match = TOKEN.exec(source);
    if (!match) return null;
    const [kind, text] = Object.entries(match.groups).find(([, value]) => value !== undefined);
    found.push({ kind, text, start: TOKEN.lastIndex - text.length, end: TOKEN.lastIndex });
  }
  return found;
}

const enclosed = (part) => {
  if (part[0].text !== "(" || part.at(-1).text !== ")") return false;
  let depth = 0;
  return part.slice(0, -1).every((token) => (depth += { "(": 1, ")": -1 }[token.kind === "mark" ? token.text : ""] ?? 0) > 0);
};

/** Whether a clause is one that a field of the form writes; if so it is put down as that field's. */
function recognise(part, fields, conditions) {
  const [name, operator, ...rest] = part;
  const field = fields.find((each) => name.text === quotedName(each.name));
  const change = field && operator && read(field, operator.text, rest);
  const known = field ? conditions[field.name] ?? {} : {};
  if (!change || Object.keys(change).some((key) => key in known)) return false;
  conditions[field.name] = { ...known, ...change };
  return true;
}

/** @returns {Condition | null} */
function read(field, operator, rest) {
  const style = styleOf(field);
  if (style === "choice") return operator === "in" ? readChoice(field, rest) : null;
  if (rest.length !== 1) return null;
  const [{ kind, text }] = rest;
  if (style === "contains") return operator === "~" && kind === "quoted" ? { contains: text.slice(1, -1) } : null;
  if (kind !== "word") return null;
  if (style === "date") return DATE.test(text) ? readDate(operator, `${text}-01-01`.slice(0, 10)) : null;
  return NUMBER.test(text) ? ({ ">=": { from: text }, "<=": { to: text } }[operator] ?? null) : null;
}

function readDate(operator, day) {
  if (Number.isNaN(Date.parse(day))) return null;
  return { ">=": { from: day }, "<": { to: dayAfter(day, -1) } }[operator] ?? null;
}

function readChoice(field, rest) {
  const values = rest.filter((token) => token.kind !== "mark");
  if (!enclosed(rest) || values.some((token) => token.kind !== "quoted")) return null;
  const known = new Set(field.values.map(([value]) => String(value)));
  const among = values.map(({ text }) => text.slice(1, -1));
  return among.every((value) => known.has(value)) ? { among } : null;
}
