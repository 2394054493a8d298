/**
 * Numbers, sizes and metadata in words.
 * @module
 */

const counts = new Intl.NumberFormat("en");
const rules = new Intl.PluralRules("en", { type: "ordinal" });
const endings = { one: "st", two: "nd", few: "rd", other: "th" };

/** 12400 → "12,400" @param {number} value */
export const count = (value) => counts.format(value);

/** (1, "document") → "1 document" @param {number} value @param {string} one @param {string} [many] */
export const several = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** 12 → "12th" @param {number} value */
export const ordinal = (value) => `${count(value)}${endings[rules.select(value)]}`;

/** ["a", "b", "c"] → "a, b and c" @param {string[]} items */
export const listed = (items) => new Intl.ListFormat("en-GB").format(items);

/** "spdx_license_key" → "spdx license key" @param {string} name */
export const label = (name) => name.replaceAll("_", " ");

/** 0.052 → "0.05 s", 12.34 → "12 s" @param {number} value */
export const seconds = (value) => `${value.toFixed(value < 1 ? 2 : value < 10 ? 1 : 0)} s`;

/** 0.2031 → "0.20", 0.00042 → "0.00042": of a long document little may be about another, yet not nothing.
 * @param {number} value @param {number} [digits] */
export const fraction = (value, digits = 2) => (value >= 0.1 ? value.toFixed(digits) : significant(2).format(value));

/** 28.6123 → "28.61", 12345.6 → "12,350" @param {number} value */
export const rough = (value) => significant(4).format(value);

const significant = (digits) => new Intl.NumberFormat("en", { maximumSignificantDigits: digits });

/** 67108864 → "64 MB" @param {number} bytes */
export function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  const value = bytes / 1024 ** power;
  return `${counts.format(Number(value.toPrecision(value < 10 ? 2 : 3)))} ${units[power]}`;
}

/** How far re-ranking moved a document. @param {number} first @param {number} rank */
export function movement(first, rank) {
  const up = first - rank;
  if (!up) return `${ordinal(first)} in the first stage too`;
  return `${ordinal(first)} → ${ordinal(rank)}, ${up > 0 ? "up" : "down"} ${count(Math.abs(up))}`;
}

/** A sentence on one line. @param {string} text */
export const flat = (text) => text.replace(/\s+/gu, " ").trim();

/** Whatever a metadata field holds, as text. @param {unknown} value @returns {string} */
export function shown(value) {
  if (Array.isArray(value)) return value.map(shown).join(", ");
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return Object.entries(value).map(([name, inner]) => `${label(name)}: ${shown(inner)}`).join("; ");
  return String(value);
}

/** The address if a text is one of the web, else null. @param {string} text */
export function webAddress(text) {
  if (!/^https?:\/\/\S+$/iu.test(text)) return null;
  try {
    return new URL(text).href;
  } catch {
    return null;
  }
}

/** Words of a text, roughly. @param {string} text */
export const wordCount = (text) => (text.match(/\S+/gu) ?? []).length;
