/**
 * Creating elements: strings become text, never markup.
 * @module
 */

import { HOME } from "./base.js";

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element. `class`, `dataset` and `on` (events by name) are special; `true` sets an empty attribute; `null`, `undefined` and
 * `false` omit it; everything else is set as an attribute.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(node, name, value);
  node.append(...nodes(children));
  return node;
}

/** Replace the children of an element.
 * @param {Element} node @param {...(Child | Child[])} children */
export function fill(node, ...children) {
  node.replaceChildren(...nodes(children));
}

/** The element with this id, which must exist.
 * @param {string} id @returns {any} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no element #${id}`);
  return element;
}

/** An icon of icons.svg; decoration only.
 * @param {string} name */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", `${HOME}static/icons.svg#${name}`);
  drawing.setAttribute("class", "icon");
  drawing.setAttribute("aria-hidden", "true");
  drawing.append(use);
  return drawing;
}

/** Announce a message to screen readers.
 * @param {string} text */
export function announce(text) {
  const region = byId("announcements");
  region.textContent = "";
  setTimeout(() => (region.textContent = text), 50); // so that a repeated message is announced again
}

function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
  else if (name === "dataset") Object.assign(node.dataset, value);
  else node.setAttribute(name, value === true ? "" : String(value));
}

function nodes(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}
