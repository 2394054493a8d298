/**
 * The progress of a search: reading → sentences → candidates → ranking → evidence.
 * @module
 */

import { el, fill } from "./dom.js";
import { count, plural, size } from "./format.js";

const STAGES = ["reading", "sentences", "candidates", "ranking", "evidence"];
const PAUSE = 200; // milliseconds between two updates of a stage, for readers and screen readers

const of = (done, total) => (total === null || total === undefined || done >= total ? count(done) : `${count(done)} of ${count(total)}`);

const MESSAGES = {
  reading: ({ done, total }) => (total ? `Reading: ${size(done)} of ${size(total)}` : "Reading"),
  sentences: ({ done, total }) => `${of(done, total)} ${done === 1 ? "sentence" : "sentences"}`,
  candidates: ({ done, total, unit }) => (unit === "sentences" ? `${of(done, total)} sentences compared` : done ? `${plural(done, "candidate")} of ${plural(total, "document")}` : "Finding candidates"),
  ranking: ({ done, total }) => `${count(done)}${total ? ` of ${count(total)}` : ""} sentences compared`,
  evidence: ({ done, total, unit }) => `Finding matching passages: ${of(done, total)} ${unit}`,
};

/**
 * A progress line in `root`, until `end` is called.
 * @param {Element} root
 * @param {number} documents of the index
 * @param {() => void} cancel
 * @returns {{onEvent: (event: string, data: any) => void, end: () => void}}
 */
export function progressLine(root, documents, cancel) {
  const steps = STAGES.map((stage) => el("li", { dataset: { stage } }, stage));
  const status = el("p", { role: "status" }, "Starting …");
  const bar = el("progress", { "aria-label": "Progress of the ranking" });
  const button = el("button", { type: "button", class: "quiet", on: { click: cancel } }, "Cancel");
  const line = el("div", { class: "progress" }, el("ol", { "aria-hidden": "true" }, steps), bar, status, button);
  fill(root, line);
  line.scrollIntoView({ block: "nearest" });
  let stage = "";
  let lastUpdate = 0;

  function onEvent(event, update) {
    const data = update.stage === "sentences" && ["ranking", "evidence"].includes(stage) ? { ...update, stage: "evidence" } : update; // sentences are aligned last
    if (event === "queued") status.textContent = data.ahead ? `Waiting: ${plural(data.ahead, "search", "searches")} ahead of yours` : "Starting …";
    if (event === "busy") status.textContent = data.text;
    if (event !== "progress" || !(data.stage in MESSAGES)) return;
    const ended = data.total === null ? data.done > 0 : data.done >= data.total; // candidates are counted only once, at the end
    if (data.stage === stage && !ended && performance.now() - lastUpdate < PAUSE) return;
    [stage, lastUpdate] = [data.stage, performance.now()];
    status.textContent = MESSAGES[stage](data.unit === "documents" ? { ...data, total: documents } : data);
    draw(data);
  }

  function draw({ done, total, unit }) {
    const at = STAGES.indexOf(stage);
    steps.forEach((step, place) => (step.dataset.state = place < at ? "done" : place === at ? "current" : "ahead"));
    if (!total || unit === "documents") return bar.removeAttribute("value");
    bar.max = total;
    bar.value = done;
  }

  return { onEvent, end: () => line.remove() };
}
