/**
 * The dialog that asks for the server's token.
 * @module
 */

import { ApiError } from "./api.js";
import { byId } from "./dom.js";

/**
 * @param {boolean} wrong whether one was given already
 * @returns {Promise<string>}
 */
export function askForToken(wrong) {
  const dialog = byId("token-dialog");
  const field = byId("token");
  field.value = "";
  byId("token-note").textContent = wrong ? "That token is not the right one." : "";
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve, reject) => {
    const closed = new AbortController(); // takes both listeners away
    const done = (settle) => (closed.abort(), settle());
    byId("token-form").addEventListener("submit", (event) => {
      event.preventDefault();
      done(() => resolve(field.value.trim()));
      dialog.close();
    }, { signal: closed.signal });
    const refusal = new ApiError(401, "Unauthorized", "This server wants a token.");
    dialog.addEventListener("close", () => done(() => reject(refusal)), { signal: closed.signal });
  });
}
