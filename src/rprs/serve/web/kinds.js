/**
 * Kinds of match, with the sign that marks each beside its colour, and similarity and coverage in words.
 * The words are those of the command line and the report (`rprs.alignment.describe`).
 * @module
 */

/** @typedef {"identical" | "reworded" | "same idea"} Kind */
/** @typedef {{words: number, identical: number, reworded: number, same_idea: number, matched: number, share: number}} Coverage */

/** The strongest first. @type {readonly {kind: Kind, field: "identical" | "reworded" | "same_idea", sign: string, help: string}[]} */
export const KINDS = [
  { kind: "identical", field: "identical", sign: "=", help: "the same words" },
  { kind: "reworded", field: "reworded", sign: "±", help: "mostly the same words; the differences are marked" },
  { kind: "same idea", field: "same_idea", sign: "≈", help: "similar meaning in different words" },
];

const order = new Map(KINDS.map(({ kind }, place) => [kind, place]));

/** The best of several pairs first. @param {{kind: Kind, similarity: number}} a @param {{kind: Kind, similarity: number}} b */
export const byStrength = (a, b) => order.get(a.kind) - order.get(b.kind) || b.similarity - a.similarity;

/** The style class of a kind. @param {Kind} kind */
export const kindClass = (kind) => `kind-${kind.replace(" ", "-")}`;

/** @param {Kind} kind */
export const signOf = (kind) => KINDS[order.get(kind)].sign;

/** The similarity of a pair; what is not identical is never shown as 100% or 1.00.
 * @param {{kind: Kind, similarity: number}} pair */
function similarityText({ kind, similarity }) {
  const percent = Math.min(Math.trunc(100 * similarity), 99); // as `similarity_text` in Python
  if (kind === "identical") return "identical";
  return kind === "reworded" ? `${percent}% of words` : (percent / 100).toFixed(2);
}

/** A pair in words, such as "reworded, 92% of words". @param {{kind: Kind, similarity: number}} pair */
export const described = (pair) => (pair.kind === "identical" ? pair.kind : `${pair.kind}, ${similarityText(pair)}`);

/** Coverage in one sentence. @param {Coverage} coverage @param {"query" | "document"} whose @param {string} [where] */
export function coverageSentence(coverage, whose, where) {
  const [subject, usual] = whose === "query" ? ["your document", "here"] : ["this document", "in yours"];
  const place = where ?? usual;
  if (!coverage.matched) return `No part of ${subject} has a counterpart ${place}`;
  const { total, parts } = percentages(coverage);
  const named = KINDS.map(({ kind, field }, at) => coverage[field] > 0 && `${percent(parts[at])} ${kind}`).filter(Boolean);
  return `${percent(total)} of ${subject} has a counterpart ${place}: ${named.join(", ")}`;
}

const percent = (value) => (value ? `${value}%` : "under 1%");

/** Percentages by kind that add up to that of the whole, which is 100% only if every word is matched. @param {Coverage} coverage */
function percentages(coverage) {
  const rounded = halfToEven((100 * coverage.matched) / coverage.words);
  const total = coverage.matched < coverage.words ? Math.min(rounded, 99) : rounded;
  const exact = KINDS.map(({ field }) => (100 * coverage[field]) / coverage.words);
  const parts = exact.map(Math.trunc);
  const left = () => total - parts.reduce((sum, value) => sum + value, 0);
  const byRemainder = [0, 1, 2].sort((a, b) => parts[a] - exact[a] - (parts[b] - exact[b]) || a - b);
  const step = left() > 0 ? 1 : -1;
  if (step < 0) byRemainder.reverse();
  for (const place of [...byRemainder, ...byRemainder]) if (left() && parts[place] + step >= 0) parts[place] += step;
  return { total, parts };
}

/** As Python rounds: 12.5 → 12, 13.5 → 14. */
function halfToEven(value) {
  const down = Math.floor(value);
  return value - down === 0.5 ? down + (down % 2) : Math.round(value);
}
