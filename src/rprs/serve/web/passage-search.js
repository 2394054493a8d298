/**
 * "Search for this passage": where a passage that no source covers leads to.
 * @module
 */

import { EMPTY_QUERY } from "./query.js";

/**
 * Search for a passage: at present a search for documents similar to it. To lead to anything else, change this function only.
 * @param {string} text
 * @param {import("./query.js").Choice} choice filters of the search that it comes from
 * @param {(query: import("./query.js").Query, choice: import("./query.js").Choice) => void} start a search
 */
export function searchPassage(text, choice, start) {
  start({ ...EMPTY_QUERY, text }, choice);
}
