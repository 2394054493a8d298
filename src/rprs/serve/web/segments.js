/**
 * A stretch of text cut where pairs and changed words begin and end, so that every pair is marked exactly. Independent of the DOM.
 * @module
 */

/** @typedef {import("./pairs.js").Pair} Pair */
/** @typedef {import("./pairs.js").Pairs} Pairs */
/** @typedef {import("./pairs.js").Which} Which */

/** Text within which the same pairs and changes apply; the pairs are those that cover it, best first.
 * @typedef {{start: number, end: number, pairs: Pair[]}} Segment */

/**
 * @param {Pairs} pairs @param {Which} side @param {number} start @param {number} end
 * @returns {Segment[]}
 */
export function segmentsOf(pairs, side, start, end) {
  const near = pairs.overlapping(side, start, end);
  if (!near.length) return [{ start, end, pairs: near }];
  const cuts = new Set([start, end]);
  const cut = (offset) => offset > start && offset < end && cuts.add(offset);
  for (const pair of near) for (const span of [pair[side], ...pair.changes[side]]) span.forEach(cut);
  const sorted = [...cuts].sort((a, b) => a - b);
  return sorted.slice(0, -1).map((from, place) => {
    const to = sorted[place + 1];
    return { start: from, end: to, pairs: near.filter((pair) => pair[side][0] < to && pair[side][1] > from) };
  });
}

/** Whether a segment has words of this pair that its counterpart does not have.
 * @param {Segment} segment @param {Pair} pair @param {Which} side */
export const isChanged = ({ start }, pair, side) => pair.changes[side].some(([from, to]) => from <= start && start < to);
