/** The text of a run: committed tokens, drafts that wait for their verdict, rejected ones struck through and fading. */

import { make, visible } from "./dom.js";

/** The token that an element shows. */
export const tokenOf = new WeakMap();

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
    const { text, parent } = step.drafts[i];
    if (step.isTree && (parent >= 0 ? !this.drafts.has(parent) || step.drafts.findIndex((d) => d.parent === parent) !== i : i > 0)) return;
    this.drafts.set(i, this.#before(make("span", { class: "drafted", "aria-hidden": "true" }, text)));
  }

  /** Strike what was rejected; what was rejected before is gone. */
  judge(step) {
    this.gone.replaceChildren();
    for (const [i, element] of this.drafts) {
      const { fate, text } = step.drafts[i];
      element.className = fate;
      if (fate === "accepted") continue;
      element.textContent = visible(text).replaceAll("␣", " ");
      this.gone.append(element);
    }
  }

  /** Write what a step committed. */
  commit(step) {
    for (const element of this.drafts.values()) if (!this.gone.contains(element)) element.remove();
    this.drafts.clear();
    for (const token of step.pieces) {
      const [, lead, rest] = token.text.match(/^(\s*)(.*)$/s);
      const element = make("span", { class: `token ${token.source}`, role: "button", tabindex: this.body.querySelector(".token") ? "-1" : "0" }, rest || lead);
      element.setAttribute("aria-label", `${rest.trim() || visible(token.text)}, ${token.source}`);
      tokenOf.set(element, token);
      if (rest) this.gone.before(lead); // no line under the space before a word
      this.#before(element);
    }
  }

  /** Take away what still waits: the run ended or was stopped. */
  end() {
    for (const element of this.drafts.values()) element.remove();
    this.drafts.clear();
    this.gone.replaceChildren();
  }

  #before(element) {
    this.gone.before(element);
    return element;
  }
}
