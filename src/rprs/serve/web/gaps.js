/**
 * Unmatched text: what the visible pairs leave of the sentences. Independent of the DOM.
 * @module
 */

/** @typedef {import("./pairs.js").Span} Span */
/** @typedef {import("./text.js").Layout} Layout */

const WORDS = /[\p{L}\p{N}]+/gu;
const FEW = 3; // words: shorter remains between two matches are highlighted, but not stepped to

/**
 * The passages of a text without a visible match, in order.
 * @param {Layout} layout
 * @param {Span[]} matched spans in any order
 * @param {Set<number>} ignored sentences that count neither as matched nor as unmatched
 * @returns {Span[]}
 */
export function unmatchedPassages({ text, starts, ends }, matched, ignored) {
  const spans = matched.toSorted(([a], [b]) => a - b);
  const passages = [];
  let next = 0;
  let covered = 0; // end of the matched text so far
  let open = /** @type {Span | null} */ (null);
  const close = () => {
    if (open && isPassage(text.slice(...open))) passages.push(open);
    open = null;
  };
  const leave = (from, to) => {
    if (from >= to || !text.slice(from, to).match(WORDS)) return;
    open = open ? [open[0], to] : [from, to];
  };
  for (let sentence = 0; sentence < starts.length; sentence++) {
    if (ignored.has(sentence)) continue;
    let at = Math.max(starts[sentence], covered);
    if (at > starts[sentence]) close();
    for (; next < spans.length && spans[next][0] < ends[sentence]; next++) {
      const [from, to] = spans[next];
      leave(at, Math.min(from, ends[sentence]));
      if (to > at) close();
      covered = Math.max(covered, to);
      at = Math.max(at, to);
    }
    leave(at, ends[sentence]);
  }
  close();
  return passages;
}

const isPassage = (text) => (text.match(WORDS) ?? []).length >= FEW;
