/**
 * The server's API. Every failure is an `ApiError` with a one-line message.
 * @module
 */

import { COLLECTION, HOME } from "./base.js";
import { events } from "./stream.js";
import { plural } from "./format.js";

const SERVER = `${HOME}api/v1`;
const ROOT = COLLECTION === null ? SERVER : `${SERVER}/collections/${encodeURIComponent(COLLECTION)}`;
const TOKEN = `token ${HOME}`; // another server of this site may have another token
const RETRIES = 3; // after a 503
const LONGEST_WAIT = 60; // seconds before a retry

/** A failed request, with a message for the user. */
export class ApiError extends Error {
  /** @param {number} status 0 if there was no response @param {string} kind @param {string} message @param {number} [retryAfter] seconds */
  constructor(status, kind, message, retryAfter = 0) {
    super(message);
    this.status = status;
    this.kind = kind;
    this.retryAfter = retryAfter;
  }

  /** Whether the server did not respond. */
  get unreachable() {
    return this.status === 0;
  }

  /** Whether trying again may help. */
  get temporary() {
    return this.status === 0 || this.status >= 500 || [401, 408, 409].includes(this.status);
  }
}

let token = storedToken();

/** @type {(wrong: boolean) => Promise<string>} asks the user for the token */
let promptToken = () => Promise.reject(new ApiError(401, "Unauthorized", "This server requires a token."));

/** Set how the token is requested. @param {(wrong: boolean) => Promise<string>} prompt */
export function onTokenRequired(prompt) {
  promptToken = prompt;
}

/** The index and the limits of the server. */
export const info = () => json("/info");

/** Documents with these words in their id or title. @param {string} find @param {AbortSignal} signal */
export const findDocuments = (find, signal) => json(`/documents?${new URLSearchParams({ find, limit: "20" })}`, { signal });

/** A document with its text. @param {string} id @param {AbortSignal} signal */
export const document = (id, signal) => json(`/documents/${idPath(id)}`, { signal });

/**
 * The hits of a search. @param {Payload} payload @param {Follow} follow
 * @typedef {import("./query.js").Payload} Payload
 * @typedef {{signal: AbortSignal, onEvent: (event: string, data: any) => void}} Follow
 */
export const search = (payload, follow) => streamed("/search", payload, follow);

/** The aligned sentences of a document. @param {Payload} payload @param {Follow} follow */
export const explain = (payload, follow) => streamed("/explain", payload, follow);

/** The coverage of a document, part by part: events `chart` and `source`. @param {Payload} payload @param {Follow} follow */
export const coverage = (payload, follow) => streamed("/coverage", payload, follow);

/** The chart of a coverage as a file. @param {Payload} payload */
export const coverageFile = (payload) => file("/coverage/export", payload);
/** The query as one text with its sentences. @param {Payload} payload */
export const sentences = (payload) => json("/sentences", { method: "POST", ...payload });

const sent = (method, matter) => ({ method, body: JSON.stringify({ matter }), headers: { "content-type": "application/json" } });

/** A matter from a file, checked. @param {unknown} matter */
export const checkMatter = (matter) => json("/matters/check", sent("POST", matter));

/** The matters in the folder of the server. */
export const matters = () => json("/matters");

/** One of them. @param {string} file */
export const matter = (file) => json(`/matters/${encodeURIComponent(file)}`);

/** A matter as a file for readers without rprs. @param {unknown} matter @param {string} format */
export const exportedMatter = (matter, format) => file("/matters/export", asJson({ matter, format }));

/** Save it there. @param {string} file @param {unknown} value */
export const saveMatter = (file, value) => json(`/matters/${encodeURIComponent(file)}`, sent("PUT", value));

/** The results as a file. @param {Payload} payload */
export const exported = (payload) => file("/export", payload);

/** The side-by-side view as a file. @param {Payload} payload */
export const report = (payload) => file("/report", payload);

/** Passages like a text. @param {any} request @param {Follow} follow */
export const passages = (request, follow) => streamed("/passages", asJson(request), follow);

/** Passages as a file. @param {any} request */
export const exportedPassages = (request) => file("/passages/export", asJson(request));

const asJson = (request) => ({ body: JSON.stringify(request), headers: { "content-type": "application/json" } });
/** All collections of the server, and whether they can be searched together. */
export const collections = () => json("/collections");

/** Create a collection. @param {Payload} payload @param {Follow} follow */
export const createCollection = (payload, follow) => streamed("/collections", payload, follow);

/** Add documents to a collection. @param {string} name @param {Payload} payload @param {Follow} follow */
export const addDocuments = (name, payload, follow) => streamed(`${collectionPath(name)}/documents`, payload, follow);

/** Documents of a collection with these words in their id or title. @param {string} name @param {string} find */
export const documentsOf = (name, find) => json(`${collectionPath(name)}/documents?${new URLSearchParams({ find, limit: "50" })}`);

/** Remove a document from a collection. @param {string} name @param {string} id */
export const removeDocument = (name, id) => json(`${collectionPath(name)}/documents/${idPath(id)}`, { method: "DELETE" });

const collectionPath = (name) => `/collections/${encodeURIComponent(name)}`;
const idPath = (id) => id.split("/").map(encodeURIComponent).join("/");

// ---------------------------------------------------------------------------- calls

async function json(path, options) {
  const response = await call(path, options);
  return complete(response.json());
}

async function file(path, payload) {
  const response = await call(path, { method: "POST", ...payload });
  const name = /filename="([^"]+)"/u.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? "rprs";
  return { name, blob: await complete(response.blob()) };
}

/** The result of an event stream; retried a few times while the server is busy. */
async function streamed(path, payload, follow) {
  for (let left = RETRIES; ; left -= 1) {
    try {
      return await readEvents(path, payload, follow);
    } catch (error) {
      if (error.status !== 503 || !left) throw error;
      await wait(Math.min(Math.max(error.retryAfter, 1), LONGEST_WAIT), follow);
    }
  }
}

async function readEvents(path, payload, { signal, onEvent }) {
  const job = newJob();
  const stop = () => call(`/jobs/${job}`, { method: "DELETE", keepalive: true }).catch(() => {}); // the job may already have ended
  signal.addEventListener("abort", stop);
  try {
    const headers = { ...payload.headers, accept: "text/event-stream", "x-job": job };
    const response = await call(path, { method: "POST", body: payload.body, headers, signal });
    for await (const { event, data } of events(response.body)) {
      if (event === "result") return data;
      if (event === "error") throw new ApiError(data.status, data.kind, data.error, data.retry_after);
      onEvent(event, data);
    }
  } catch (error) {
    throw signal.aborted || error instanceof ApiError ? error : stopped();
  } finally {
    signal.removeEventListener("abort", stop);
  }
  throw stopped();
}

const stopped = () => new ApiError(0, "Stopped", "The server stopped answering.");

/** Wait for a busy server, with a countdown. */
async function wait(seconds, { signal, onEvent }) {
  for (let left = Math.ceil(seconds); left > 0; left -= 1) {
    onEvent("busy", { text: `The server is busy. Trying again in ${plural(left, "second")}.` });
    await pause(1000, signal);
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason);
    if (signal.aborted) return end();
    signal.addEventListener("abort", end, { once: true });
    setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve(null);
    }, milliseconds);
  });
}

function newJob() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A successful response; requests the token until it is right. */
async function call(path, options = {}) {
  for (;;) {
    const headers = { ...options.headers, ...(token && { authorization: `Bearer ${token}` }) };
    const response = await send(path, { ...options, headers });
    if (response.ok) return response;
    if (response.status !== 401) throw await failure(response);
    storeToken(await promptToken(Boolean(token)));
  }
}

function storedToken() {
  try {
    return sessionStorage.getItem(TOKEN);
  } catch {
    return null; // storage may be disabled; the token then lasts until the page is closed
  }
}

function storeToken(value) {
  token = value;
  try {
    sessionStorage.setItem(TOKEN, value);
  } catch {
    return;
  }
}

async function send(path, options) {
  try {
    return await fetch((path.startsWith("/collections") ? SERVER : ROOT) + path, { cache: "no-store", ...options });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw stopped();
  }
}

/** The error of a response, with the server's own message if there is one. */
async function failure(response) {
  const body = await response.json().catch(() => ({}));
  const message = typeof body.error === "string" ? body.error : defaultMessage(response.status);
  return new ApiError(response.status, body.kind ?? "", message, Number(response.headers.get("retry-after")) || 0);
}

function defaultMessage(status) {
  const messages = {
    404: "The server did not find this.",
    413: "This is larger than the server accepts.",
    504: "The server took too long and gave up.",
  };
  return messages[status] ?? `The request failed with status ${status}.`;
}

/** The body of a response, once it is complete. */
async function complete(body) {
  try {
    return await body;
  } catch (error) {
    throw error.name === "AbortError" ? error : stopped();
  }
}
