/**
 * A histogram of the dates of the results: each bar is a button that restricts the dates to its range.
 * @module
 */

import { el } from "./dom.js";
import { plural } from "./format.js";

const BARS = 12; // at most
const STEPS = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000]; // years per bar

/** @typedef {{from: string, to: string, label: string, count: number}} Bin `from` and `to` are as the fields of the filter have them */

/**
 * The bars for these dates: of years, or of months if all dates are in one year.
 * @param {string[]} dates in the form year-month-day, year-month or year
 * @param {boolean} isNumber whether the field has years as numbers
 * @returns {Bin[]}
 */
export function binsOf(dates, isNumber) {
  const valid = dates.filter((date) => /^\d{4}(-\d\d){0,2}/u.test(date));
  if (!valid.length) return [];
  const years = valid.map((date) => Number(date.slice(0, 4)));
  const [first, last] = [Math.min(...years), Math.max(...years)];
  if (first === last && !isNumber && valid.every((date) => date.length >= 7)) return monthBins(valid, first);
  const step = STEPS.find((each) => Math.floor(last / each) - Math.floor(first / each) < BARS) ?? last - first + 1;
  const bins = [];
  for (let from = Math.floor(first / step) * step; from <= last; from += step) {
    const to = from + step - 1;
    const ends = isNumber ? [String(from), String(to)] : [`${four(from)}-01-01`, `${four(to)}-12-31`];
    const times = years.filter((year) => from <= year && year <= to).length;
    bins.push({ from: ends[0], to: ends[1], label: step === 1 ? String(from) : `${from}–${to}`, count: times });
  }
  return bins;
}

function monthBins(dates, year) {
  const months = [...Array(12).keys()].map((place) => String(place + 1).padStart(2, "0"));
  const bins = months.map((month) => ({
    from: `${four(year)}-${month}-01`,
    to: new Date(Date.UTC(year, Number(month), 0)).toISOString().slice(0, 10),
    label: `${year}-${month}`,
    count: dates.filter((date) => date.slice(5, 7) === month).length,
  }));
  const used = bins.map(({ count }) => count > 0);
  return bins.slice(used.indexOf(true), used.lastIndexOf(true) + 1);
}

const four = (year) => String(year).padStart(4, "0");

/**
 * @param {string} name of the field, for screen readers
 * @param {Bin[]} bins
 * @param {(bin: Bin) => void} choose
 */
export function histogram(name, bins, choose) {
  if (!bins.length) return null;
  const most = Math.max(...bins.map(({ count }) => count));
  const bars = bins.map((bin) => {
    const words = `${bin.label}: ${plural(bin.count, "result")}`;
    const bar = el("button", { type: "button", title: words, "aria-label": words, disabled: !bin.count, on: { click: () => choose(bin) } }, el("span", {}));
    bar.firstChild.style.blockSize = `${Math.round((100 * bin.count) / most)}%`;
    return el("li", {}, bar);
  });
  return el("div", { class: "histogram" },
    el("ol", { "aria-label": `Results by ${name}: choose a bar to filter` }, bars),
    el("p", { class: "hint", "aria-hidden": "true" }, el("span", {}, bins[0].label.split("–")[0]), bins.length > 1 && el("span", {}, bins.at(-1).label.split("–").at(-1))));
}
