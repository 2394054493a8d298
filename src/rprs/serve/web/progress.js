/**
 * The line that tells how far a question is: reading → sentences → candidates → ranking.
 * @module
 */

import { el, fill } from "./dom.js";
import { count, several, size } from "./words.js";

const STAGES = ["reading", "sentences", "candidates", "ranking"];
const PAUSE = 200; // milliseconds between two counts of one stage: nobody reads faster, and screen readers speak slower

const of = (done, total) => (total === null || total === undefined || done >= total ? count(done) : `${count(done)} of ${count(total)}`);

const SAYINGS = {
  reading: ({ done, total }) => (total ? `Reading: ${size(done)} of ${size(total)}` : "Reading"),
  sentences: ({ done, total }) => `${of(done, total)} ${done === 1 ? "sentence" : "sentences"}`,
  candidates: ({ done, total }) => (done ? `${several(done, "candidate")} of ${several(total, "document")}` : "Looking for candidates"),
  ranking: ({ done, total }) => `${count(done)}${total ? ` of ${count(total)}` : ""} sentences compared`,
};

/**
 * A progress line in `root`, until `end` is called.
 * @param {Element} root
 * @param {number} documents of the index
 * @param {() => void} cancel
 * @returns {{say: (event: string, data: any) => void, end: () => void}}
 */
export function progressLine(root, documents, cancel) {
  const steps = STAGES.map((stage) => el("li", { dataset: { stage } }, stage));
  const status = el("p", { role: "status" }, "Asking …");
  const bar = el("progress", { "aria-label": "How far the ranking is" });
  const button = el("button", { type: "button", class: "quiet", on: { click: cancel } }, "Cancel");
  const line = el("div", { class: "progress" }, el("ol", { "aria-hidden": "true" }, steps), bar, status, button);
  fill(root, line);
  line.scrollIntoView({ block: "nearest" });
  let stage = "";
  let told = 0;

  function say(event, data) {
    if (event === "queued") status.textContent = data.ahead ? `Waiting: ${several(data.ahead, "question")} ahead of yours` : "Asking …";
    if (event === "busy") status.textContent = data.text;
    if (event !== "progress" || !(data.stage in SAYINGS)) return;
    const ended = data.total === null ? data.done > 0 : data.done >= data.total; // candidates are counted once, at the end
    if (data.stage === stage && !ended && performance.now() - told < PAUSE) return;
    [stage, told] = [data.stage, performance.now()];
    status.textContent = SAYINGS[stage](stage === "candidates" ? { ...data, total: documents } : data);
    draw(data);
  }

  function draw({ done, total }) {
    const at = STAGES.indexOf(stage);
    steps.forEach((step, place) => (step.dataset.state = place < at ? "done" : place === at ? "current" : "ahead"));
    if (!total || stage === "candidates") return bar.removeAttribute("value");
    bar.max = total;
    bar.value = done;
  }

  return { say, end: () => line.remove() };
}
