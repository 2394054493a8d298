/**
 * Where this server lives: `/`, or a path behind a proxy such as `/search/`. All addresses are relative to it.
 * @module
 */

/** The path of the search form, with a slash at its end. */
export const HOME = new URL("../", import.meta.url).pathname;

/** The collection of this page; null for the first one of the server. Another collection is another page. */
export const COLLECTION = new URLSearchParams(location.search).get("collection");

/** All collections as one. */
export const TOGETHER = "_together";

/** The address of the search form of a collection. @param {string | null} name */
export const formAddress = (name) => (name === null ? HOME : `${HOME}?${new URLSearchParams({ collection: name })}`);

/** The address of a view of this collection. @param {URLSearchParams} parameters */
export function address(parameters) {
  if (COLLECTION !== null) parameters.set("collection", COLLECTION);
  return `${HOME}?${parameters}`;
}

/** The search form of this collection. */
export const FORM = formAddress(COLLECTION);
