/**
 * The dialog for the server's token.
 * @module
 */

import { ApiError } from "./api.js";
import { byId } from "./dom.js";

/**
 * @param {boolean} wrong whether a previous token was rejected
 * @returns {Promise<string>}
 */
export function requestToken(wrong) {
  const dialog = byId("token-dialog");
  const field = byId("token");
  field.value = "";
  byId("token-note").textContent = wrong ? "This token is not correct." : "";
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve, reject) => {
    const closed = new AbortController(); // removes both listeners
    const done = (settle) => (closed.abort(), settle());
    byId("token-form").addEventListener("submit", (event) => {
      event.preventDefault();
      done(() => resolve(field.value.trim()));
      dialog.close();
    }, { signal: closed.signal });
    const refusal = new ApiError(401, "Unauthorized", "This server requires a token.");
    dialog.addEventListener("close", () => done(() => reject(refusal)), { signal: closed.signal });
  });
}
