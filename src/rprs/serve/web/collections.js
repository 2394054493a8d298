/**
 * Collections: the switch in the header, and the view where they are created, extended and reduced.
 * @module
 */

import * as api from "./api.js";
import { COLLECTION, formAddress, HOME, TOGETHER } from "./base.js";
import { announce, byId, el, fill } from "./dom.js";
import { joinList, plural } from "./format.js";
import { indexing } from "./indexing.js";
import { showError } from "./notice.js";

const MANAGE = "manage";

/** @typedef {{name: string, documents: number, encoder: string}} Collection */
/** @typedef {{collections: Collection[], together: boolean, reason: string | null, can_create: boolean, folders: string[]}} Overview */

/** Whether the address is that of the view of collections. */
export const isCollectionsAddress = () => new URLSearchParams(location.search).has(MANAGE);

function manageAddress() {
  const parameters = new URLSearchParams({ [MANAGE]: "collections" });
  if (COLLECTION !== null) parameters.set("collection", COLLECTION);
  return `${HOME}?${parameters}`;
}

// ---------------------------------------------------------------------------- the switch

/** Show in the header which collection is searched, if there are several or one can be created. @param {{collections: string[], together: boolean, can_create: boolean}} info */
export function showSwitch(info) {
  const several = info.collections.length > 1;
  byId("collection-switch").hidden = !several && !info.can_create;
  fill(byId("collection-switch"), several && selection(info), el("a", { class: "plain", href: manageAddress() }, "Collections"));
}

/** Without any collection, show the view to create one. @returns {Promise<boolean>} whether there is none */
export async function showFirst() {
  const { collections } = await api.collections();
  if (collections.length) return false;
  for (const view of document.querySelectorAll(".view")) view.hidden = view.id !== "collections";
  await collectionsView(byId("collections"), { writable: true });
  return true;
}

function selection({ collections, together }) {
  const chosen = COLLECTION ?? collections[0];
  const option = (value, text, disabled = false) => el("option", { value, selected: value === chosen, disabled }, text);
  const go = (event) => location.assign(formAddress(event.target.value));
  return el("label", {}, el("span", { class: "visually-hidden" }, "Collection"),
    el("select", { id: "collection", on: { change: go } },
      collections.map((name) => option(name, name)),
      option(TOGETHER, together ? "All together" : "All together (not possible)", !together)));
}

// ---------------------------------------------------------------------------- the view

/** The collections, with everything that changes them. @param {Element} root @param {{writable: boolean}} info */
export async function collectionsView(root, info) {
  const places = { error: el("div"), list: el("div"), outcome: el("div", { class: "outcome" }) };
  const title = el("h1", { id: "collections-title", tabindex: "-1" }, "Collections");
  fill(root, title, places.error, places.outcome, places.list);
  title.focus({ preventScroll: true });
  const refresh = async () => {
    try {
      fill(places.list, overviewOf(await api.collections(), info, places, refresh));
    } catch (error) {
      showError(places.error, error, { index: "", again: refresh });
    }
  };
  await refresh();
}

/** @param {Overview} overview @param {{writable: boolean}} info @param {{error: Element, outcome: Element}} places @param {() => Promise<void>} refresh */
function overviewOf(overview, info, places, refresh) {
  const work = indexing(places, refresh);
  return [
    overview.collections.length > 1 && el("p", { class: "lead" }, overview.together
      ? "All collections can be searched together, with exactly the ranking of one collection."
      : `These collections cannot be searched together: ${overview.reason}.`),
    !info.writable && el("p", { class: "notice" }, "This server is read-only. To change collections, start it with ", el("code", {}, "--allow-write"), "; to change a cluster, use ", el("code", {}, "rprs cluster add"), "."),
    el("ul", { class: "collection-list" }, overview.collections.map((each) => collectionItem(each, overview, info, work, places, refresh))),
    info.writable && overview.can_create && createForm(overview, work),
    info.writable && !overview.can_create && el("p", { class: "hint" }, "To create collections here, start the server with a folder for them: ", el("code", {}, "rprs serve FOLDER"), "."),
  ];
}

function collectionItem({ name, documents, encoder }, overview, info, work, places, refresh) {
  return el("li", { class: "collection", dataset: { name } },
    el("h2", {}, name),
    el("p", { class: "hint" }, `${plural(documents, "document")} · ${encoder}`),
    el("p", { class: "actions" }, el("a", { class: "button", href: formAddress(name) }, "Search")),
    info.writable && addForm(name, overview.folders, work),
    info.writable && removal(name, places, refresh));
}

// ---------------------------------------------------------------------------- adding

let forms = 0;

/** Fields for files and, if the server may read some, for folders of its computer. */
function sources(folders) {
  forms += 1;
  const id = `source-${forms}`;
  const files = el("input", { type: "file", multiple: true, id: `${id}-files` });
  const folder = el("input", { type: "text", id: `${id}-folder`, list: `${id}-folders`, autocomplete: "off", spellcheck: "false", placeholder: folders[0] ?? "" });
  const fields = [
    el("p", { class: "field" }, el("label", { for: `${id}-files` }, "Files: choose them, or drop them on this form"), files),
    folders.length > 0 && el("p", { class: "field" }, el("label", { for: `${id}-folder` }, `or a folder of the server, in ${joinList(folders)}`), folder,
      el("datalist", { id: `${id}-folders` }, folders.map((value) => el("option", { value })))),
  ];
  return { fields, read: () => ({ files: [...files.files], folder: folder.value.trim() || null }), files };
}

/** Accept files that are dropped on a form. */
function acceptDrops(form, input) {
  form.addEventListener("dragover", (event) => (event.preventDefault(), event.stopPropagation()));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation(); // elsewhere in the window, a file is a query
    input.files = event.dataTransfer.files;
    announce(`${plural(input.files.length, "file")} chosen`);
  });
  return form;
}

function addForm(name, folders, work) {
  const source = sources(folders);
  const submit = (event) => {
    event.preventDefault();
    work.add(name, source.read());
  };
  const form = el("form", { class: "add", novalidate: true, on: { submit } }, source.fields, el("button", { type: "submit", class: "button" }, `Add to ${name}`));
  return el("details", { class: "fold" }, el("summary", {}, "Add documents"), acceptDrops(form, source.files));
}

function createForm(overview, work) {
  const source = sources(overview.folders);
  const name = el("input", { type: "text", id: "new-name", required: true, maxlength: "80", autocomplete: "off" });
  const encoder = el("select", { id: "new-encoder" },
    el("option", { value: "" }, "Fitted to this collection (best ranking)"),
    el("option", { value: "onnx" }, "General model (slower; can be searched together with others)"),
    el("option", { value: "hashed" }, "Words only (fastest; can be searched together with others)"));
  const submit = (event) => {
    event.preventDefault();
    work.create(name.value.trim(), encoder.value || null, source.read());
  };
  const form = el("form", { class: "create", novalidate: true, on: { submit } },
    el("h2", {}, "New collection"),
    el("p", { class: "field" }, el("label", { for: "new-name" }, "Name"), name),
    source.fields,
    el("p", { class: "field" }, el("label", { for: "new-encoder" }, "How sentences are compared"), encoder),
    el("button", { type: "submit", class: "primary", id: "create" }, "Create collection"));
  return acceptDrops(form, source.files);
}

// ---------------------------------------------------------------------------- removing

function removal(name, places, refresh) {
  forms += 1;
  const id = `remove-${forms}`;
  const words = el("input", { type: "text", id, autocomplete: "off", spellcheck: "false", placeholder: "Search by title or ID", on: { input: () => find() } });
  const list = el("ul", { class: "removable" });
  const note = el("p", { class: "hint", role: "status" });
  const find = async () => {
    try {
      const { documents, total } = await api.documentsOf(name, words.value);
      fill(list, documents.map((each) => row(each)));
      note.textContent = total > documents.length ? `The first ${documents.length} of ${plural(total, "document")}` : plural(total, "document");
    } catch (error) {
      showError(places.error, error, { index: "", again: find });
    }
  };
  const remove = async (each) => {
    try {
      await api.removeDocument(name, each.id);
      fill(places.outcome, el("p", { class: "notice", role: "status" }, `Removed ${each.title || each.id} from ${name}.`));
      await refresh();
    } catch (error) {
      showError(places.error, error, { index: "" });
    }
  };
  const row = (each) => el("li", {}, el("span", {}, each.title || each.id), " ", el("span", { class: "option-id" }, each.id), " ",
    el("button", { type: "button", class: "button small", "aria-label": `Remove ${each.title || each.id}`, on: { click: () => remove(each) } }, "Remove"));
  const opened = (event) => event.target.open && !list.children.length && find();
  return el("details", { class: "fold", on: { toggle: opened } }, el("summary", {}, "Remove documents"),
    el("p", { class: "field" }, el("label", { for: id }, `Documents of ${name}`), words), note, list);
}
