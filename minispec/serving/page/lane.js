/** Draft and verify steps on a line of time. A draft's cell has the mark of its fate, not only the colour. */

import { draw, eachFrame, make, milliseconds } from "./dom.js";
import { isFirst } from "./run.js";

const [HIGH, GAP, TOP] = [18, 4, 4];
const ROWS = { draft: TOP, target: TOP + HIGH + GAP };
const HEIGHT = ROWS.target + HIGH + 22;
const LEAST_PX = 6; // of a cell
const TICK_PX = 80; // at least

/** The step that an element shows. */
export const stepOf = new WeakMap();

export class Lane {
  /**
   * @param {Element} box
   * @param {string} title
   * @param {number} scale  pixels a second
   */
  constructor(box, title, scale) {
    this.scale = scale;
    this.tick = roundUp(TICK_PX / scale); // seconds
    this.ticks = 0;
    this.svg = draw("svg", { class: "lane", height: HEIGHT, width: 0 });
    this.groups = new Map(); // step: element
    this.follow = eachFrame(() => {
      if (!this.view.contains(document.activeElement)) this.view.scrollLeft = this.view.scrollWidth;
    });
    this.view = make("div", { class: "lane-view" }, this.svg);
    const rows = make("div", { class: "lane-rows", "aria-hidden": "true" }, make("span", {}, "draft"), make("span", {}, "target"));
    box.append(make("div", { class: "lane-box", role: "group", "aria-label": `${title}: steps in time` }, make("h3", {}, title), make("div", { class: "lane-line" }, rows, this.view)));
  }

  /** Draw a step as far as it is known; begin is when decoding began, in seconds. */
  show(step, begin) {
    const x = (seconds) => (seconds - begin) * this.scale;
    const old = this.groups.get(step);
    const group = draw("g", { class: "step", role: "button", tabindex: old?.getAttribute("tabindex") ?? (this.groups.size ? "-1" : "0"), "aria-label": describe(step) });
    const from = x(step.draftFrom);
    const end = x(step.verifyTo ?? step.draftTo);
    group.append(draw("rect", { class: "hit", x: from, y: 0, width: Math.max(1, end - from), height: ROWS.target + HIGH })); // its gaps too
    const cell = (x(step.draftTo) - from) / step.drafts.length;
    for (const { fate, start, count } of cells(step, cell)) group.append(...box(from + start * cell, ROWS.draft, count * cell, fate));
    if (step.verifyTo !== undefined) {
      const start = x(step.verifyFrom);
      const width = x(step.verifyTo) - start;
      const source = step.tokens.at(-1)?.source ?? step.source ?? "plain";
      group.append(...box(start, ROWS.target, width, step.drafts.length ? "verify" : "plain"));
      if (step.drafts.length && source !== "accepted") group.append(...box(start + width - Math.min(8, width / 2), ROWS.target, Math.min(8, width / 2), source));
    }
    if (old) {
      const focused = document.activeElement === old;
      old.replaceWith(group);
      if (focused) group.focus({ preventScroll: true });
    } else this.svg.append(group);
    this.groups.set(step, group);
    stepOf.set(group, step);
    this.#reach(end);
  }

  #reach(end) {
    if (end + 40 > Number(this.svg.getAttribute("width"))) this.svg.setAttribute("width", Math.ceil(end + 40));
    for (; this.ticks * this.tick * this.scale <= end; this.ticks++) {
      const x = Math.round(this.ticks * this.tick * this.scale) + 0.5;
      this.svg.prepend(
        draw("line", { class: "tick", x1: x, x2: x, y1: 0, y2: HEIGHT - 16 }),
        draw("text", { class: "tick", x: x + 3, y: HEIGHT - 4 }, milliseconds(this.ticks * this.tick)),
      );
    }
    this.follow();
  }
}

/** The next of 1, 2, 5, 10, 20, ... */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find((digit) => digit * power >= value * 0.999);
}

/** One cell for each draft; where that is too narrow to be seen, one for all of a fate, and those of a tree sorted. */
function cells(step, width) {
  const fates = step.drafts.map((draft) => draft.fate);
  if (width >= LEAST_PX) return fates.map((fate, start) => ({ fate, start, count: 1 }));
  if (step.isTree) fates.sort();
  return [...new Set(fates)].map((fate) => ({ fate, start: fates.indexOf(fate), count: fates.filter((other) => other === fate).length }));
}

/** A rectangle and, for what was not kept, a stroke through it. */
function box(x, y, width, fate) {
  const inner = Math.max(1, width - 1);
  const parts = [draw("rect", { class: fate, x, y, width: inner, height: HIGH, rx: 2 })];
  if (fate === "rejected") parts.push(draw("line", { class: "cross", x1: x, y1: y + HIGH, x2: x + inner, y2: y }));
  return parts;
}

/** A step in words. */
export function describe(step) {
  if (isFirst(step)) return "The first token: the prompt gives it";
  const number = `Step ${step.index}`;
  if (!step.drafts.length) return `${number}: one token of the target`;
  if (step.verifyTo === undefined) return `${number}: ${step.drafts.length} drafted`;
  const kept = step.drafts.filter((draft) => draft.fate === "accepted").length;
  return `${number}: ${kept} of ${step.drafts.length} drafts accepted`;
}
