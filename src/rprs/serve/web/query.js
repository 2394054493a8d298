/**
 * What is asked: files, pasted text and documents of the index, together. A query is a value; a new one is made, none changed.
 * @module
 */

/**
 * @typedef {{id: string, title: string, text: string}} Given a document with its text
 * @typedef {{id: string, title: string}} Indexed a document of the index
 * @typedef {{files: File[], documents: Given[], text: string, indexed: Indexed[]}} Query
 * @typedef {{k: number, where: string | null}} Choice how many, and of which
 * @typedef {{body: string | FormData, headers?: Record<string, string>}} Payload
 */

/** @type {Query} */
export const NOTHING = { files: [], documents: [], text: "", indexed: [] };

/** @param {Query} query */
export const isEmpty = (query) => !(query.indexed.length || hasOwn(query));

/** Whether documents of the index alone are asked for, so that an address can say all of it. @param {Query} query */
export const isIndexed = (query) => query.indexed.length > 0 && !hasOwn(query);

const hasOwn = ({ files, documents, text }) => Boolean(files.length || documents.length || text.trim());

/**
 * The body of a request. Texts of files are asked back, so that they are sent and read once only.
 * @param {Query} query
 * @param {Record<string, unknown>} more
 * @returns {Payload}
 */
export function payload({ files, documents, text, indexed }, more) {
  const request = { ids: indexed.map(({ id }) => id), ...more };
  if (documents.length) request.documents = documents;
  if (text.trim()) request.text = text;
  if (!files.length) return { body: JSON.stringify(request), headers: { "content-type": "application/json" } };
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  form.append("request", JSON.stringify({ ...request, echo: true }));
  return { body: form };
}

/**
 * The same query once the server has answered: what it read from the files takes their place, titles are known.
 * @param {Query} query
 * @param {{text: string | null, seeds: {id: string, title: string, start: number, end: number, indexed: boolean}[]}} answer
 * @returns {Query}
 */
export function settled(query, { text, seeds }) {
  const titles = new Map(seeds.map((seed) => [seed.id, seed.title]));
  const indexed = query.indexed.map(({ id, title }) => ({ id, title: titles.get(id) || title }));
  if (!query.files.length || text === null) return { ...query, indexed };
  const cut = cutter(text, seeds.at(-1).end);
  const read = seeds.slice(0, query.files.length).map(({ id, title, start, end }) => ({ id, title, text: cut(start, end) }));
  return { files: [], documents: [...read, ...query.documents], text: query.text, indexed };
}

/** Parts of a text by spans, which count code points; JavaScript's own count differs where a text has characters beyond U+FFFF. */
function cutter(text, length) {
  if (text.length === length) return (start, end) => text.slice(start, end);
  const points = Array.from(text);
  return (start, end) => points.slice(start, end).join("");
}

/** What each seed is called. @param {Query} query */
export function namesOf({ files, documents, text, indexed }) {
  const pasted = text.trim() ? [`“${opening(text)}”`] : [];
  return [...files.map((file) => file.name), ...documents.map(called), ...pasted, ...indexed.map(called)];
}

/** What a query is called. @param {Query} query @returns {string} */
export function nameOf(query) {
  const names = namesOf(query);
  if (names.length < 3) return names.join(" and ");
  return `${names[0]} and ${names.length - 1} more`;
}

/** What a document is called, on one line; a title may be as long as a page. @param {Indexed} document */
export const called = ({ id, title }) => opening(title, 200) || id;

/** The first words of a text. @param {string} text */
export function opening(text, length = 48) {
  const words = text.trim().slice(0, 400).replace(/\s+/gu, " ");
  if (words.length <= length) return words;
  const cut = Array.from(words).slice(0, length).join(""); // between characters, also those of two units
  return `${cut.replace(/\s\S*$/u, "")} …`;
}

// ---------------------------------------------------------------------------- addresses

/**
 * The address of an indexed query; null for any other, which has none.
 * @param {Query} query
 * @param {Choice} choice
 * @param {string | null} [open] a document in the aligned view
 */
export function addressOf(query, { k, where }, open = null) {
  if (!isIndexed(query)) return null;
  const parameters = new URLSearchParams(query.indexed.map(({ id }) => ["id", id]));
  parameters.set("k", String(k));
  if (where) parameters.set("where", where);
  if (open !== null) parameters.set("open", open);
  return `/?${parameters}`;
}

/**
 * What an address asks for; null where it asks for nothing.
 * @param {string} search
 * @param {number} usual how many results, unless it says
 */
export function readAddress(search, usual) {
  const parameters = new URLSearchParams(search);
  const ids = parameters.getAll("id").filter(Boolean);
  if (!ids.length) return null;
  const k = Number(parameters.get("k"));
  const choice = { k: Number.isInteger(k) && k > 0 ? k : usual, where: parameters.get("where") || null };
  const query = { ...NOTHING, indexed: ids.map((id) => ({ id, title: "" })) };
  return { query, choice, open: parameters.get("open") };
}
