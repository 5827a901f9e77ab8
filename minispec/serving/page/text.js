/** The text of a run: committed tokens, drafts that wait for their verdict, rejected ones struck through and fading. */

import { make, visible } from "./dom.js";

const FADE_MS = 1600;
/** The token that an element shows. */
export const tokenOf = new WeakMap();

const quiet = matchMedia("(prefers-reduced-motion: reduce)");

export class TextView {
  /**
   * @param {Element} box  where it goes
   * @param {string} title  of this run
   * @param {string} prompt
   */
  constructor(box, title, prompt) {
    this.gone = make("span", { class: "gone", "aria-hidden": "true" }); // what was taken back stays behind the text
    this.body = make("p", { class: "text" }, make("span", { class: "prompt" }, prompt), this.gone);
    this.drafts = new Map(); // number in the step: element
    box.append(make("div", { class: "film", role: "group", "aria-label": `${title}: text` }, make("h3", {}, title), this.body));
  }

  /** Show draft number i of a step; of a tree, its first path. */
  draft(step, i) {
    if (i === 0) this.#sweep();
    const { text, parent } = step.drafts[i];
    if (step.isTree && (parent >= 0 ? !this.drafts.has(parent) || step.drafts.findIndex((d) => d.parent === parent) !== i : i > 0)) return;
    this.drafts.set(i, this.#before(make("span", { class: "drafted", "aria-hidden": "true" }, text)));
  }

  /** Strike what was rejected. */
  judge(step) {
    for (const [i, element] of this.drafts) {
      const { fate, text } = step.drafts[i];
      element.className = fate;
      if (fate === "accepted") continue;
      element.textContent = visible(text).replaceAll("␣", " ");
      this.gone.append(element);
      if (!quiet.matches) setTimeout(() => element.remove(), FADE_MS);
    }
  }

  /** Write what a step committed. */
  commit(step) {
    for (const element of this.drafts.values()) if (!this.gone.contains(element)) element.remove();
    this.drafts.clear();
    for (const token of step.pieces) {
      const element = make("span", { class: `token ${token.source}`, role: "button", tabindex: this.body.querySelector(".token") ? "-1" : "0" }, token.text);
      element.setAttribute("aria-label", `${visible(token.text)}, ${token.source}`);
      tokenOf.set(element, token);
      this.#before(element);
    }
  }

  /** Take away what still waits: the run ended or was stopped. */
  end() {
    for (const element of this.drafts.values()) element.remove();
    this.drafts.clear();
    this.#sweep();
  }

  #before(element) {
    this.gone.before(element);
    return element;
  }

  #sweep() {
    if (quiet.matches) this.gone.replaceChildren();
  }
}
