/**
 * The query: files, pasted text and documents from the index, combined. A query is an immutable value.
 * @module
 */

import { address } from "./base.js";
import { dateLimit, NO_FILTER } from "./filter-text.js";

/**
 * @typedef {{id: string, title: string, text: string, metadata?: Record<string, unknown>}} TextDocument a document with its text
 * @typedef {{id: string, title: string}} Indexed a document in the index
 * @typedef {{files: File[], documents: TextDocument[], text: string, indexed: Indexed[]}} Query
 * @typedef {{k: number, filter: import("./filter-text.js").Filter, boilerplate: boolean, sort: Sort, marks?: import("./marks.js").Marks}} Choice number of results, filter,
 *   whether boilerplate is included in evidence and coverage, and the order of the list
 * @typedef {"rank" | "newest" | "oldest"} Sort
 * @typedef {{body: string | FormData, headers?: Record<string, string>}} Payload
 */

/** @type {Query} */
export const EMPTY_QUERY = { files: [], documents: [], text: "", indexed: [] };

/** @type {Choice} */
export const DEFAULT_CHOICE = { k: 10, filter: NO_FILTER, boilerplate: true, sort: "rank" };
const SORTS = ["rank", "newest", "oldest"];

/** @param {Query} query */
export const isEmpty = (query) => !(query.indexed.length || hasText(query));

/** Whether the query consists of documents in the index only, so that an address can represent it. @param {Query} query */
export const isIndexed = (query) => query.indexed.length > 0 && !hasText(query);

const hasText = ({ files, documents, text }) => Boolean(files.length || documents.length || text.trim());

/**
 * The body of a request. The server returns the texts of files, so that they are sent and read only once.
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
 * The query after the server's response: files are replaced by their texts, and titles are filled in.
 * @param {Query} query
 * @param {{text: string | null, seeds: Seed[]}} answer
 * @typedef {{id: string, title: string, start: number, end: number, indexed: boolean, metadata: Record<string, unknown>}} Seed
 * @returns {Query}
 */
export function withServerTexts(query, { text, seeds }) {
  const titles = new Map(seeds.map((seed) => [seed.id, seed.title]));
  const indexed = query.indexed.map(({ id, title }) => ({ id, title: titles.get(id) || title }));
  if (!query.files.length || text === null) return { ...query, indexed };
  const cut = slicer(text, seeds.at(-1).end);
  const read = seeds.slice(0, query.files.length)
    .map(({ id, title, start, end, metadata }) => ({ id, title, text: cut(start, end), metadata }));
  return { files: [], documents: [...read, ...query.documents], text: query.text, indexed };
}

/** Slices a text by offsets in code points; JavaScript counts characters beyond U+FFFF twice. */
function slicer(text, length) {
  if (text.length === length) return (start, end) => text.slice(start, end);
  const points = Array.from(text);
  return (start, end) => points.slice(start, end).join("");
}

/** The name of each query document. @param {Query} query */
export function documentNames({ files, documents, text, indexed }) {
  const pasted = text.trim() ? [`“${excerpt(text)}”`] : [];
  return [...files.map((file) => file.name), ...documents.map(displayName), ...pasted, ...indexed.map(displayName)];
}

/** The name of a query. @param {Query} query @returns {string} */
export function queryName(query) {
  const names = documentNames(query);
  if (names.length < 3) return names.join(" and ");
  return `${names[0]} and ${names.length - 1} more`;
}

/** The name of a document on one line; long titles are shortened. @param {Indexed} document */
export const displayName = ({ id, title }) => excerpt(title, 200) || id;

/** The first words of a text. @param {string} text */
export function excerpt(text, length = 48) {
  const words = text.trim().slice(0, 400).replace(/\s+/gu, " ");
  if (words.length <= length) return words;
  const cut = Array.from(words).slice(0, length).join(""); // never within a surrogate pair
  return `${cut.replace(/\s\S*$/u, "")} …`;
}

/** A file name for something about a query, such as "similar to Heron v. Otter.csv". @param {string} name @param {string} suffix */
export const fileName = (name, suffix) => `${excerpt(name, 120).replace(/[\\/:*?"<>|\u0000-\u001f“”…]+/gu, " ").replace(/\s+/gu, " ").trim()}${suffix}`;

// ---------------------------------------------------------------------------- addresses

/**
 * The address of a query that consists of indexed documents; null for any other query.
 * @param {Query} query
 * @param {Choice} choice
 * @param {string | null} [open] a document in the aligned view
 * @param {[number, number] | null} [at] the pair to show there
 */
export function addressOf(query, { k, filter, boilerplate, sort, marks }, open = null, at = null) {
  if (!isIndexed(query)) return null;
  const parameters = new URLSearchParams(query.indexed.map(({ id }) => ["id", id]));
  parameters.set("k", String(k));
  if (Object.keys(filter.conditions).length) parameters.set("filter", JSON.stringify(filter.conditions));
  if (filter.advanced.trim()) parameters.set("where", filter.advanced);
  for (const [name, value] of Object.entries(dateLimit(filter))) parameters.set(name, value);
  if (!boilerplate) parameters.set("boilerplate", "no");
  if (sort !== "rank") parameters.set("sort", sort);
  for (const { id } of marks?.like ?? []) parameters.append("like", id);
  for (const { id } of marks?.unlike ?? []) parameters.append("not", id);
  for (const kind of ["key", "ignore"]) if (marks?.[kind].length) parameters.set(kind, marks[kind].map((span) => span.join("-")).join(","));
  if (open !== null) parameters.set("open", open);
  if (at) parameters.set("at", at.join("-"));
  return address(parameters);
}

/**
 * The query in an address; null if there is none.
 * @param {string} search
 */
export function readAddress(search) {
  const parameters = new URLSearchParams(search);
  const ids = parameters.getAll("id").filter(Boolean);
  if (!ids.length) return null;
  const k = Number(parameters.get("k"));
  const limit = { before: parameters.get("before") ?? "", undated: parameters.get("undated") ?? "keep" };
  const sort = SORTS.find((each) => each === parameters.get("sort")) ?? DEFAULT_CHOICE.sort;
  const choice = {
    k: Number.isInteger(k) && k > 0 ? k : DEFAULT_CHOICE.k, filter: { ...filterOf(parameters), ...limit },
    boilerplate: parameters.get("boilerplate") !== "no", sort, marks: marksIn(parameters),
  };
  const query = { ...EMPTY_QUERY, indexed: ids.map((id) => ({ id, title: "" })) };
  const at = /^(\d+)-(\d+)$/u.exec(parameters.get("at") ?? "");
  return { query, choice, open: parameters.get("open"), at: at && [Number(at[1]), Number(at[2])] };
}

function marksIn(parameters) {
  const named = (name) => parameters.getAll(name).filter(Boolean).map((id) => ({ id, title: "" }));
  const spans = (name) => [...(parameters.get(name) ?? "").matchAll(/(\d+)-(\d+)/gu)].map(([, start, end]) => [Number(start), Number(end)]);
  return { like: named("like"), unlike: named("not"), key: spans("key"), ignore: spans("ignore") };
}

/** A damaged condition becomes the advanced filter, which the server then rejects: no filter is dropped silently. */
function filterOf(parameters) {
  const [text, advanced] = [parameters.get("filter"), parameters.get("where") ?? ""];
  if (!text) return { conditions: {}, advanced };
  try {
    const conditions = JSON.parse(text);
    if (Object.values(conditions).every(isCondition)) return { conditions, advanced };
  } catch {
    // below
  }
  return { conditions: {}, advanced: text };
}

const isCondition = ({ among = [], ...texts }) => [...among, ...Object.values(texts)].every((value) => typeof value === "string");
