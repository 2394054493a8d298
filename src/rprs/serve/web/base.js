/**
 * Where this server lives: `/`, or a path behind a proxy such as `/search/`. All addresses are relative to it.
 * @module
 */

/** The path of the search form, with a slash at its end. */
export const HOME = new URL("../", import.meta.url).pathname;
