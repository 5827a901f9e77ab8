/** The form: filled from what the server offers, read as the fields of a request. */

import { make } from "./dom.js";

const field = (id) => document.getElementById(id);
const SLIDERS = ["gamma", "temperature", "top_p", "max_tokens"];
const START = { temperature: 0.8, max_tokens: 96 }; // where a visitor sees something; the rest is the server's
const LEAST = { gamma: 1, top_p: 0.01, max_tokens: 8 };
const MOST = { max_tokens: 512 };

export class Controls {
  /** @param {object} options  what GET /v1/options answers */
  constructor(options) {
    this.options = options;
    const { drafts, rules, gamma, defaults } = options;
    field("draft").replaceChildren(...drafts.map(({ name }) => make("option", { value: name }, name)), make("option", { value: "none" }, "none: plain decoding"));
    field("rule").replaceChildren(...rules.map(({ name, lossless }) => make("option", { value: name }, lossless ? name : `${name} (lossy)`)));
    for (const name of gamma.policies) field("policy").append(make("option", { value: name }, name));
    for (const name of SLIDERS) {
      const { min = 0, max, default: usual } = options[name]; // top_p has exclusiveMinimum, and a least value here
      Object.assign(field(name), { min: Math.max(min, LEAST[name] ?? min), max: Math.min(max, MOST[name] ?? max) });
      field(name).value = START[name] ?? (Number.isFinite(usual) ? usual : 3);
    }
    if (defaults.draft) field("draft").value = defaults.draft;
    field("rule").value = defaults.verify;
    field("key-field").hidden = !options.needs_key;
    field("form").addEventListener("input", () => this.#agree());
    this.#agree();
  }

  /** Keep the choices such as go together. */
  #agree() {
    const { drafts, rules } = this.options;
    const plain = field("draft").value === "none";
    const tree = drafts.find(({ name }) => name === field("draft").value)?.tree ?? false;
    for (const choice of field("rule").options) choice.disabled = tree && !rules.find(({ name }) => name === choice.value).trees;
    if (field("rule").selectedOptions[0].disabled) field("rule").value = rules.find(({ trees, same_seed }) => trees && !same_seed).name;
    field("rule").disabled = plain;
    field("policy").disabled = plain || tree;
    field("gamma").disabled = plain || tree || field("policy").value !== "";
    const rule = rules.find(({ name }) => name === field("rule").value);
    const kept = rule.same_seed ? "the text of plain decoding with the same seed" : "the law of plain decoding";
    field("promise").textContent = plain ? "Nothing is drafted." : rule.lossless ? `Lossless: ${kept}.` : "Lossy: the text is not the target's.";
    for (const name of SLIDERS) document.querySelector(`output[for=${name}]`).value = field(name).value;
  }

  /** The request, without the stream's own fields. */
  request() {
    const seed = field("seed").value === "" ? Math.floor(Math.random() * 2 ** 31) : Number(field("seed").value);
    const asked = { model: this.options.model, prompt: field("prompt").value, seed, logprobs: Math.min(5, this.options.logprobs.max) };
    for (const name of ["temperature", "top_p", "max_tokens"]) asked[name] = Number(field(name).value);
    if (field("draft").value === "none") return { ...asked, speculative: false };
    const speculative = { draft: field("draft").value, verify: field("rule").value };
    if (!field("policy").disabled) speculative.gamma = field("policy").value || Number(field("gamma").value);
    return { ...asked, speculative };
  }

  get key() {
    return field("key").value;
  }

  /** How many times slower to show a run; null for reading speed. */
  get pace() {
    return field("pace").value === "read" ? null : Number(field("pace").value);
  }

  get showsDrafts() {
    return field("drafts").checked;
  }
}
