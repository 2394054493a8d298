/**
 * Numbers, sizes and metadata as text.
 * @module
 */

const counts = new Intl.NumberFormat("en");

/** 12400 → "12,400" @param {number} value */
export const count = (value) => counts.format(value);

/** (1, "document") → "1 document" @param {number} value @param {string} one @param {string} [many] */
export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** ["a", "b", "c"] → "a, b and c" @param {string[]} items */
export const joinList = (items) => new Intl.ListFormat("en-GB").format(items);

/** "spdx_license_key" → "spdx license key" @param {string} name */
export const label = (name) => name.replaceAll("_", " ");

/** 0.2031 → "0.20", 0.00042 → "0.00042": small values keep two significant digits.
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

/** A sentence on one line. @param {string} text */
export const flat = (text) => text.replace(/\s+/gu, " ").trim();

/** A metadata value as text. @param {unknown} value @returns {string} */
export function asText(value) {
  if (Array.isArray(value)) return value.map(asText).join(", ");
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return Object.entries(value).map(([name, inner]) => `${label(name)}: ${asText(inner)}`).join("; ");
  return String(value);
}

/** The address if the text is a web address, otherwise null. @param {string} text */
export function webAddress(text) {
  if (!/^https?:\/\/\S+$/iu.test(text)) return null;
  try {
    return new URL(text).href;
  } catch {
    return null;
  }
}

/** Approximate number of words. @param {string} text */
export const wordCount = (text) => (text.match(/\S+/gu) ?? []).length;
