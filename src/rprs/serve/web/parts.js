/**
 * What is too large for the session storage of a tab: chosen files and long texts. They are in IndexedDB, encrypted with a key
 * that is in the session storage of the tab alone: once the tab is closed, nobody can read them. They are deleted when a page of
 * this server is opened a day later or after that.
 * @module
 */

const SECRET = "tab";
const DAY = 86_400_000;
const HOUR = 3_600_000;
const ID = 8; // bytes that name the tab; the others are its key

/** @type {Promise<{database: IDBDatabase, tab: string, key: CryptoKey}> | null} */
let opened = null;
/** @type {Promise<unknown>} the changes of parts, one after the other */
let changes = Promise.resolve();
const inOrder = (change) => (changes = changes.then(change));

/** Keep bytes under a name, until the tab is closed; false if that is not possible here. @param {string} name @param {Blob} bytes */
export const keepPart = (name, bytes) => inOrder(async () => {
  try {
    const { database, tab, key } = await (opened ??= open());
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const data = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, await bytes.arrayBuffer());
    await write(database, "parts", (store) => store.put({ iv, data }, `${tab} ${name}`));
    return true;
  } catch {
    return false; // no secure connection, no IndexedDB, no room on the disk, or the file has been moved
  }
});

/** The bytes under a name, or null. @param {string} name @returns {Promise<ArrayBuffer | null>} */
export async function keptPart(name) {
  try {
    const { database, tab, key } = await (opened ??= open());
    const { iv, data } = await answer(database.transaction("parts").objectStore("parts").get(`${tab} ${name}`));
    return await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, data);
  } catch {
    return null;
  }
}

/** @param {string} name */
export const deletePart = (name) => inOrder(async () => {
  try {
    const { database, tab } = await (opened ??= open());
    await write(database, "parts", (store) => store.delete(`${tab} ${name}`));
  } catch {
    // then it was not kept either
  }
});

async function open() {
  const bytes = secret();
  const tab = bytes.slice(0, ID).join("-");
  const key = await crypto.subtle.importKey("raw", bytes.slice(ID), "AES-GCM", false, ["encrypt", "decrypt"]);
  const request = indexedDB.open("rprs", 1);
  request.onupgradeneeded = () => ["parts", "tabs"].forEach((name) => request.result.createObjectStore(name));
  const database = await answer(request);
  const isHere = () => write(database, "tabs", (store) => store.put(Date.now(), tab));
  navigator.locks.request(`tab ${tab}`, { mode: "shared" }, () => new Promise(() => {})); // until the page is left
  await isHere();
  setInterval(isHere, HOUR);
  return { database, tab, key };
}

/** The name and the key of the tab. */
function secret() {
  const kept = sessionStorage.getItem(SECRET);
  if (kept) return Uint8Array.from(kept.split(","), Number);
  const bytes = crypto.getRandomValues(new Uint8Array(ID + 32));
  sessionStorage.setItem(SECRET, bytes.join());
  return bytes;
}

/** Delete the parts of tabs that were closed: those without a page for a day. */
export async function sweepParts() {
  try {
    const { database } = await (opened ??= open());
    const { held } = await navigator.locks.query();
    const tabs = database.transaction("tabs").objectStore("tabs");
    const [names, times] = await Promise.all([answer(tabs.getAllKeys()), answer(tabs.getAll())]);
    const closed = names.filter((tab, at) => times[at] < Date.now() - DAY && !held.some(({ name }) => name === `tab ${tab}`));
    for (const tab of closed) {
      await write(database, "parts", (store) => store.delete(IDBKeyRange.bound(`${tab} `, `${tab}!`, false, true)));
      await write(database, "tabs", (store) => store.delete(tab));
    }
  } catch {
    // there is nothing to delete if nothing can be kept
  }
}

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const answer = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** Change a store, and wait until the change is on disk. @param {IDBDatabase} database @param {string} name @param {(store: IDBObjectStore) => void} change */
const write = (database, name, change) => new Promise((resolve, reject) => {
  const transaction = database.transaction(name, "readwrite");
  transaction.oncomplete = resolve;
  transaction.onabort = () => reject(transaction.error);
  change(transaction.objectStore(name));
});
