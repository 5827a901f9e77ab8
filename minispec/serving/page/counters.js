/** The figures that matter, kept up to date while a run goes on. */

import { figure, make, percent } from "./dom.js";

export class Counters {
  /**
   * @param {Element} box
   * @param {string} title
   */
  constructor(box, title) {
    this.list = make("dl");
    this.places = make("tbody");
    const head = make("tr", {}, ...["position", "drafts kept"].map((name) => make("th", { scope: "col" }, name)), make("td"));
    this.table = make("table", { class: "places", hidden: "" }, make("caption", {}, "Acceptance by position in the draft"), make("thead", {}, head), this.places);
    box.append(make("div", {}, make("h3", {}, title), this.list, this.table));
  }

  /** @param {import("./run.js").Run} run */
  show(run) {
    const facts = [
      ["tokens", run.tokens.length],
      ["target passes", run.numSteps],
      ["τ, tokens per pass", figure(run.tau)],
      ["tokens per second", figure(run.tokensPerSecond)],
    ];
    if (!run.plain) facts.push(["drafts kept", `${run.accepted} of ${run.drafted} (${percent(run.accepted, run.drafted)})`]);
    if (run.shown) facts.push(["characters shown early", run.shown], ["of these, taken back", run.takenBack]);
    this.list.replaceChildren(...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
    this.table.hidden = !run.reached.length;
    this.places.replaceChildren(...run.reached.map((reached, i) => place(i + 1, run.kept[i], reached)));
  }
}

function place(number, kept, reached) {
  const bar = make("span", { class: "bar" });
  bar.style.width = `${(100 * kept) / reached}%`;
  return make("tr", {}, make("th", { scope: "row" }, String(number)), make("td", { class: "number" }, `${kept}/${reached}`), make("td", { class: "bars" }, bar));
}
