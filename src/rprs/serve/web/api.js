/**
 * The server's API. Every failure is an `ApiError` with one plain line.
 * @module
 */

import { events } from "./stream.js";
import { several } from "./words.js";

const ROOT = "/api/v1";
const TRIES = 3; // more, after a 503
const LONGEST_WAIT = 60; // seconds before a try

/** What went wrong, in one line for the person. */
export class ApiError extends Error {
  /** @param {number} status 0 where no answer came @param {string} kind @param {string} message @param {number} [retryAfter] seconds */
  constructor(status, kind, message, retryAfter = 0) {
    super(message);
    this.status = status;
    this.kind = kind;
    this.retryAfter = retryAfter;
  }

  /** Whether the server itself is gone. */
  get unreachable() {
    return this.status === 0;
  }

  /** Whether the same question may be answered another time. */
  get passing() {
    return this.status === 0 || this.status >= 500 || [401, 408, 409].includes(this.status);
  }
}

let token = keptToken();

/** @type {(wrong: boolean) => Promise<string>} asks the person for the token */
let askToken = () => Promise.reject(new ApiError(401, "Unauthorized", "This server wants a token."));

/** Say how the token is asked for, once the server wants one. @param {(wrong: boolean) => Promise<string>} ask */
export function onTokenWanted(ask) {
  askToken = ask;
}

/** What the index holds and what the server takes. */
export const info = () => json("/info");

/** Documents of the index with these words in id or title. @param {string} find @param {AbortSignal} signal */
export const findDocuments = (find, signal) => json(`/documents?${new URLSearchParams({ find, limit: "20" })}`, { signal });

/**
 * The hits of a search. @param {Payload} payload @param {Follow} follow
 * @typedef {import("./query.js").Payload} Payload
 * @typedef {{signal: AbortSignal, say: (event: string, data: any) => void}} Follow
 */
export const search = (payload, follow) => streamed("/search", payload, follow);

/** The aligned sentences of a document. @param {Payload} payload @param {Follow} follow */
export const explain = (payload, follow) => streamed("/explain", payload, follow);

/** The list as a file. @param {Payload} payload */
export const exported = (payload) => file("/export", payload);

/** An aligned view as a file. @param {Payload} payload */
export const report = (payload) => file("/report", payload);

// ---------------------------------------------------------------------------- calls

async function json(path, options) {
  const response = await call(path, options);
  return whole(response.json());
}

async function file(path, payload) {
  const response = await call(path, { method: "POST", ...payload });
  const name = /filename="([^"]+)"/u.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? "rprs";
  return { name, blob: await whole(response.blob()) };
}

/** A streamed answer; a server that is busy is asked again, a few times. */
async function streamed(path, payload, follow) {
  for (let left = TRIES; ; left -= 1) {
    try {
      return await followed(path, payload, follow);
    } catch (error) {
      if (error.status !== 503 || !left) throw error;
      await wait(Math.min(Math.max(error.retryAfter, 1), LONGEST_WAIT), follow);
    }
  }
}

async function followed(path, payload, { signal, say }) {
  const job = newJob();
  const stop = () => call(`/jobs/${job}`, { method: "DELETE", keepalive: true }).catch(() => {}); // it may have ended by itself
  signal.addEventListener("abort", stop);
  try {
    const headers = { ...payload.headers, accept: "text/event-stream", "x-job": job };
    const response = await call(path, { method: "POST", body: payload.body, headers, signal });
    for await (const { event, data } of events(response.body)) {
      if (event === "result") return data;
      if (event === "error") throw new ApiError(data.status, data.kind, data.error, data.retry_after);
      say(event, data);
    }
  } catch (error) {
    throw signal.aborted || error instanceof ApiError ? error : stopped();
  } finally {
    signal.removeEventListener("abort", stop);
  }
  throw stopped();
}

const stopped = () => new ApiError(0, "Stopped", "The server stopped answering.");

/** Wait for a busy server, and say so. */
async function wait(seconds, { signal, say }) {
  for (let left = Math.ceil(seconds); left > 0; left -= 1) {
    say("busy", { text: `The server is busy. Trying again in ${several(left, "second")}.` });
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

/** A response that is no error; asks for the token as often as it is wrong. */
async function call(path, options = {}) {
  for (;;) {
    const headers = { ...options.headers, ...(token && { authorization: `Bearer ${token}` }) };
    const response = await fetched(path, { ...options, headers });
    if (response.ok) return response;
    if (response.status !== 401) throw await failure(response);
    keepToken(await askToken(Boolean(token)));
  }
}

function keptToken() {
  try {
    return sessionStorage.getItem("token");
  } catch {
    return null; // storage may be switched off; the token then lasts until the page is left
  }
}

function keepToken(given) {
  token = given;
  try {
    sessionStorage.setItem("token", given);
  } catch {
    return;
  }
}

async function fetched(path, options) {
  try {
    return await fetch(ROOT + path, { cache: "no-store", ...options });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw stopped();
  }
}

/** The error that a response is; its words are the server's own where it has any. */
async function failure(response) {
  const said = await response.json().catch(() => ({}));
  const message = typeof said.error === "string" ? said.error : plainly(response.status);
  return new ApiError(response.status, said.kind ?? "", message, Number(response.headers.get("retry-after")) || 0);
}

function plainly(status) {
  const known = {
    404: "The server does not know this.",
    413: "That is more than this server takes.",
    504: "The server took too long and gave up.",
  };
  return known[status] ?? `The server could not do this (${status}).`;
}

/** The body of an answer, once all of it has come. */
async function whole(body) {
  try {
    return await body;
  } catch (error) {
    throw error.name === "AbortError" ? error : stopped();
  }
}
