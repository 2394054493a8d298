/**
 * Files chosen or dropped, checked before they are sent.
 * @module
 */

import { byId } from "./dom.js";
import { joinList, size } from "./format.js";

const KINDS = [
  ["PDF", "pdf"],
  ["Word", "docx", "docm", "dotx", "doc", "dot"],
  ["Excel", "xlsx", "xlsm", "xls", "xlt"],
  ["PowerPoint", "pptx", "pptm", "ppsx", "potx", "ppt", "pps", "pot"],
  ["OpenDocument", "odt", "ott", "ods", "ots", "odp", "otp"],
  ["RTF", "rtf"], ["EPUB", "epub"],
  ["e-mail", "eml", "msg", "mbox"],
  ["HTML", "html", "htm", "xhtml"],
  ["text", "txt", "text", "license"], ["Markdown", "md", "markdown"],
  ["patents and articles in XML", "xml", "nxml"],
  ["archives with one document", "zip", "tar", "tgz", "tbz2", "txz"],
  ["JSON or CSV with one record", "json", "jsonl", "ndjson", "csv", "tsv"],
];
const PACKED = ["gz", "xz"];

/** @typedef {{upload_bytes: number, text_characters: number, seconds: number}} Limits */

/**
 * Accept files that are chosen, or dropped anywhere in the window.
 * @param {(files: File[], folders: string[]) => void} accept
 */
export function acceptFiles(accept) {
  const input = byId("files");
  input.addEventListener("change", () => {
    accept([...input.files], []);
    input.value = ""; // so that the same file can be chosen again
  });
  acceptDrops(accept);
}

function acceptDrops(accept) {
  const overlay = byId("drop-overlay");
  let inside = 0; // dragenter and dragleave fire for every element that is crossed
  const show = (visible) => (overlay.hidden = !visible);
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
    accept(...dropped(dataTransfer));
  }));
}

/** Files, and the names of folders, which are not accepted. */
function dropped({ files, items }) {
  const isFolder = [...items].filter(({ kind }) => kind === "file").map((item) => item.webkitGetAsEntry?.()?.isDirectory ?? false);
  const all = [...files];
  return [all.filter((_, at) => !isFolder[at]), all.filter((_, at) => isFolder[at]).map(({ name }) => name)];
}

/**
 * Why a file cannot be used; null if it can.
 * @param {File} file
 * @param {string[]} suffixes
 * @param {Limits} limits
 */
export function problemWith(file, suffixes, limits) {
  const name = file.name.toLowerCase();
  if (!suffixes.some((suffix) => name.endsWith(`.${suffix.replace(/^\./u, "").toLowerCase()}`)))
    return `${file.name} has an unsupported file type. Supported: ${typeNames(suffixes)}.`;
  if (!file.size) return `${file.name} is empty.`;
  if (file.size > limits.upload_bytes) return `${file.name} has ${size(file.size)}; this server accepts up to ${size(limits.upload_bytes)}.`;
  return null;
}

/** @param {string} folder */
export const folderProblem = (folder) => `${folder} is a folder. Drop the documents themselves.`;

/** The name of a file that was moved or changed since it was chosen; null if there is none. @param {File[]} files */
export async function missingFile(files) {
  for (const file of files) {
    try {
      await file.slice(0, 1).arrayBuffer();
    } catch {
      return file.name;
    }
  }
  return null;
}

/** The supported file types in words. @param {string[]} suffixes */
export function typeNames(suffixes) {
  const supported = new Set(suffixes.map((suffix) => suffix.replace(/^\./u, "").toLowerCase()));
  const named = KINDS.filter(([, ...of]) => of.some((suffix) => supported.has(suffix)));
  const hasName = (suffix) => PACKED.some((end) => suffix.endsWith(end)) || KINDS.some(([, ...of]) => of.includes(suffix));
  const others = [...supported].filter((suffix) => !hasName(suffix));
  return joinList([...named.map(([name]) => name), ...others]);
}
