/**
 * Files by choosing or dropping, checked before anything is sent.
 * @module
 */

import { byId } from "./dom.js";
import { listed, size } from "./words.js";

const KINDS = [
  ["PDF", "pdf"], ["Word (docx)", "docx"], ["RTF", "rtf"], ["HTML", "html", "htm", "xhtml"],
  ["text", "txt", "text", "license"], ["Markdown", "md", "markdown"],
  ["JSON or CSV of one record", "json", "jsonl", "ndjson", "csv", "tsv"],
];
const PACKED = ["gz", "xz"];

/** @typedef {{upload_bytes: number, text_characters: number, seconds: number}} Limits */

/**
 * Hand on files that are chosen, or dropped anywhere on the page.
 * @param {(files: File[], folders: string[]) => void} take
 */
export function acceptFiles(take) {
  const input = byId("files");
  input.addEventListener("change", () => {
    take([...input.files], []);
    input.value = ""; // so that the same file can be chosen again
  });
  acceptDrops(take);
}

function acceptDrops(take) {
  const veil = byId("veil");
  let inside = 0; // dragenter and dragleave come for every element on the way
  const show = (visible) => (veil.hidden = !visible);
  const withFiles = (listener) => (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    listener(event);
  };
  addEventListener("dragenter", withFiles(() => show((inside += 1) > 0)));
  addEventListener("dragleave", withFiles(() => show((inside -= 1) > 0)));
  addEventListener("dragover", withFiles((event) => (event.dataTransfer.dropEffect = "copy")));
  addEventListener("drop", withFiles(({ dataTransfer }) => {
    show((inside = 0) > 0);
    take(...dropped(dataTransfer));
  }));
}

/** Files and the names of folders, which cannot be read as one document. */
function dropped({ files, items }) {
  const isFolder = [...items].filter(({ kind }) => kind === "file").map((item) => item.webkitGetAsEntry?.()?.isDirectory ?? false);
  const all = [...files];
  return [all.filter((_, at) => !isFolder[at]), all.filter((_, at) => isFolder[at]).map(({ name }) => name)];
}

/**
 * Why a file cannot be asked with, in plain words; null if it can.
 * @param {File} file
 * @param {string[]} suffixes
 * @param {Limits} limits
 */
export function objection(file, suffixes, limits) {
  const name = file.name.toLowerCase();
  if (!suffixes.some((suffix) => name.endsWith(`.${suffix.replace(/^\./u, "").toLowerCase()}`)))
    return `${file.name} is not a kind of file that can be read. What can be: ${kinds(suffixes)}.`;
  if (!file.size) return `${file.name} is empty.`;
  if (file.size > limits.upload_bytes) return `${file.name} has ${size(file.size)}; this server takes up to ${size(limits.upload_bytes)}.`;
  return null;
}

/** @param {string} folder */
export const folderObjection = (folder) => `${folder} is a folder. Drop the documents in it that you want to ask with.`;

/** The name of a file that is no longer there as it was chosen; null if all are. @param {File[]} files */
export async function vanished(files) {
  for (const file of files) {
    try {
      await file.slice(0, 1).arrayBuffer();
    } catch {
      return file.name;
    }
  }
  return null;
}

/** The kinds of file in words. @param {string[]} suffixes */
export function kinds(suffixes) {
  const known = new Set(suffixes.map((suffix) => suffix.replace(/^\./u, "").toLowerCase()));
  const named = KINDS.filter(([, ...of]) => of.some((suffix) => known.has(suffix)));
  const hasName = (suffix) => PACKED.some((end) => suffix.endsWith(end)) || KINDS.some(([, ...of]) => of.includes(suffix));
  const others = [...known].filter((suffix) => !hasName(suffix));
  return listed([...named.map(([name]) => name), ...others]);
}
