/** What the page has besides where there is no server: the proof that one can watch, and a copy of its files for times without a network. */

import { eachFrame, make, visible } from "./dom.js";
import { Refusal, order } from "./stream.js";
import { histogram } from "./histogram.js";

const DRAWS = 4000;
const RULES = { rejection: "rejection: the right rule", gumbel: "gumbel: right, with shared noise", match: "match: right, with sampled tokens", "accept everything": "wrong: accept everything", "resample from p": "wrong: resample from p after a rejection" };

const field = (id) => document.getElementById(id);
let abort = null;

/** The panel's form and its place. */
function build() {
  const rule = make("select", { id: "proof-rule" }, ...Object.entries(RULES).map(([value, text]) => make("option", { value }, text)));
  const place = make("select", { id: "proof-place" }, ...[1, 2, 3].map((number) => make("option", { value: number }, `${number}. behind the prompt`)));
  const seed = make("input", { id: "proof-seed", type: "number", min: 0, max: 2 ** 31, step: 1, value: 1 });
  const named = (label, control) => make("div", {}, make("label", { for: control.id }, label), control);
  const box = make("section", { id: "proof", "aria-labelledby": "proof-title" },
    make("h2", { id: "proof-title" }, "Is it still the target’s distribution?"),
    make("p", { class: "hint" }, `Draws one token behind your prompt ${DRAWS} times plainly, and ${DRAWS} times with drafts and a rule; prompt, draft, temperature and top-p are those of the form.`),
    make("div", { class: "fields" }, named("Rule", rule), named("Token", place), named("Seed", seed)),
    make("div", { class: "buttons" }, make("button", { type: "button", id: "prove" }, "Draw"), make("button", { type: "button", id: "prove-stop", disabled: "" }, "Stop")),
    make("p", { id: "verdict", role: "status" }),
    make("div", { id: "histogram" }));
  field("stage").append(box);
  field("prove").addEventListener("click", () => prove().catch(fail));
  field("prove-stop").addEventListener("click", () => abort?.abort());
}

function fail(error) {
  if (error.name === "AbortError") return;
  field("verdict").textContent = error instanceof Refusal ? error.message : `The page failed: ${error.message}`;
}

async function prove() {
  abort?.abort();
  const own = (abort = new AbortController());
  const number = (id) => Number(field(id).value);
  const draft = field("draft").value;
  field("histogram").replaceChildren();
  field("prove-stop").disabled = false;
  try {
    if (["none", "ngram"].includes(draft)) throw new Refusal("This needs a draft model: choose draft-1.6m or draft-0.6m in the options.");
    field("verdict").textContent = "Loading.";
    const asked = { prompt: field("prompt").value, draft, place: number("proof-place"), rule: field("proof-rule").value, temperature: number("temperature"), top_p: number("top_p"), seed: Math.floor(Math.abs(number("proof-seed"))), count: DRAWS };
    const texts = new Map();
    const counts = [new Map(), new Map()];
    let made = 0;
    const showSoon = eachFrame(() => own === abort && show(counts, texts, made));
    for await (const { data } of order({ task: "prove", asked }, { signal: own.signal })) {
      for (const [id, text] of Object.entries(data.texts)) texts.set(Number(id), visible(text));
      for (const pair of data.drawn) pair.forEach((token, i) => counts[i].set(token, (counts[i].get(token) ?? 0) + 1));
      made += data.drawn.length;
      showSoon();
    }
  } finally {
    if (own === abort) field("prove-stop").disabled = true;
  }
}

function show(counts, texts, made) {
  const rows = histogram(counts, texts, made);
  const outside = rows.filter((row) => row.outside);
  const said = outside.length ? `${outside.length} of ${rows.length} outside the band: ${outside.map(({ text }) => text).join(" ")}. This is not the target’s distribution.` : `All ${rows.length} inside the band.`;
  field("verdict").textContent = `${made} of ${DRAWS} pairs drawn. ${said}`;
  const widest = Math.max(...rows.map(({ high, ours }) => Math.max(high, ours)));
  const table = make("tbody", {}, ...rows.map((row) => draw(row, widest)));
  const titles = ["plain", "with drafts", "band"].map((title) => make("th", { scope: "col", class: "number" }, title));
  const head = make("tr", {}, make("th", { scope: "col" }, "token"), ...titles, make("td"));
  const hint = make("p", { class: "hint" }, "Bars: above the share of plain draws, below with drafts. Band: if both laws are the same, all shares with drafts lie in theirs in 95 of 100 tests like this.");
  const box = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Shares of tokens" }, make("table", { class: "proof" }, make("thead", {}, head), table));
  field("histogram").replaceChildren(hint, box);
}

function draw({ text, plain, ours, low, high, outside }, widest) {
  const share = (value) => `${(100 * value).toFixed(1)} %`;
  const bar = (kind, from, to) => {
    const made = make("span", { class: kind });
    made.style.left = `${(100 * from) / widest}%`;
    made.style.width = `${(100 * (to - from)) / widest}%`;
    return made;
  };
  const bars = make("div", { class: "shares" }, bar("band", low, high), bar("share-plain", 0, plain), bar(outside ? "share-out" : "share-ours", 0, ours));
  const cells = [share(plain), share(ours), `${share(low)} to ${share(high)}`].map((value) => make("td", { class: "number" }, value));
  return make("tr", { class: outside ? "outside" : null }, make("th", { scope: "row", class: "piece" }, `${outside ? "✗ " : ""}${text}`), ...cells, make("td", { class: "bars" }, bars));
}

build();
if (navigator.serviceWorker) navigator.serviceWorker.register("offline.js").catch(() => {}); // without it the page needs its network
