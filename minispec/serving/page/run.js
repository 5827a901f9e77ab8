/** A run: what its events say, step by step, and the counters that follow. It knows nothing of the page. */

export class Run {
  /** @param {boolean} plain  without drafts */
  constructor(plain) {
    this.plain = plain;
    this.steps = [];
    this.tokens = [];
    this.end = null; // what `finished` said
    this.begin = 0; // seconds: when decoding began, behind the first token
    this.now = 0; // seconds: when the last step ended
    this.reading = 0; // seconds: how long the draft read the prompt, behind the first token; known in the end
    this.shown = 0; // characters shown before their verdict
    this.takenBack = 0;
    this.reached = []; // by position (a tree's: depth): drafts there
    this.kept = []; // of these, accepted
  }

  /** Take an event of docs/http-api.md; return the step it belongs to, if any. */
  take({ event, data }) {
    const read = { prefilled: this.#prefilled, drafted: this.#drafted, verified: this.#verified, emitted: this.#emitted, settled: this.#settled, finished: this.#finished }[event];
    return read?.call(this, data) ?? null;
  }

  #prefilled({ at_s }) {
    this.now = at_s;
  }

  #drafted({ step, tokens, texts, probs, parents, at_s, elapsed_s }) {
    const drafts = tokens.map((id, i) => ({ id, text: texts[i], q: probs[i], parent: parents ? parents[i] : i - 1, fate: "drafted" }));
    for (const draft of drafts) draft.depth = draft.parent < 0 ? 0 : drafts[draft.parent].depth + 1;
    const made = { index: step, isTree: parents !== null && drafts.length > 0, drafts, draftFrom: Math.max(this.now, at_s - elapsed_s), draftTo: at_s, tokens: [] };
    this.steps.push(made);
    return made;
  }

  #verified({ num_accepted, rejected, accept_probs, target_probs, source, at_s, elapsed_s }) {
    const step = this.steps.at(-1);
    const left = new Map();
    for (const id of rejected) left.set(id, (left.get(id) ?? 0) + 1);
    step.drafts.forEach((draft, i) => {
      draft.p = target_probs?.[i];
      if (step.isTree) {
        const missed = left.get(draft.id) ?? 0;
        draft.fate = missed ? "rejected" : "accepted";
        left.set(draft.id, missed - 1 > 0 ? missed - 1 : 0);
      } else {
        draft.fate = i < num_accepted ? "accepted" : i === num_accepted ? "rejected" : "unseen";
        draft.accept = accept_probs[i]; // of those that the rule looked at
      }
    });
    this.#count(step);
    return Object.assign(step, { source, verifyFrom: Math.max(step.draftTo, at_s - elapsed_s), verifyTo: at_s });
  }

  /** Count each depth once: whether any draft there was kept. */
  #count(step) {
    const depths = new Set(step.drafts.map((draft) => draft.depth));
    for (const depth of depths) {
      const kept = step.drafts.some((draft) => draft.depth === depth && draft.fate === "accepted");
      this.reached[depth] = (this.reached[depth] ?? 0) + 1;
      this.kept[depth] = (this.kept[depth] ?? 0) + Number(kept);
    }
  }

  #emitted({ step: index, token_ids, texts, sources, pieces, details, at_s }) {
    let step = this.steps.at(-1);
    if (step?.index !== index) {
      step = { index, isTree: false, drafts: [], draftFrom: this.now, draftTo: this.now, verifyFrom: this.now, verifyTo: at_s, tokens: [] };
      this.steps.push(step);
    }
    step.tokens = token_ids.map((id, i) => ({ id, text: texts[i], source: sources[i], detail: details[i] ?? null, step }));
    const text = pieces.map((piece) => piece.text).join("");
    const whole = texts.join("") === text; // else characters across tokens, or text held back: pieces say what is sure
    step.pieces = whole ? step.tokens : pieces.map((piece) => ({ ...piece, id: null, detail: null, step }));
    step.end = this.now = at_s;
    if (isFirst(step)) this.begin = at_s;
    this.tokens.push(...step.tokens);
    return step;
  }

  #settled({ confirmed, retracted }) {
    this.shown += [...confirmed].length + [...retracted].length;
    this.takenBack += [...retracted].length;
  }

  #finished(data) {
    this.end = data;
    this.reading = data.metrics.prefill_s - data.metrics.ttft_s;
  }

  get text() {
    return this.steps.flatMap((step) => step.pieces ?? []).map((piece) => piece.text).join("");
  }

  /** Target forwards after the prompt. */
  get numSteps() {
    return this.steps.filter((step) => step.end !== undefined && !isFirst(step)).length;
  }

  /** Tokens that these forwards gave. */
  get numDecoded() {
    return this.tokens.filter(({ step }) => !isFirst(step)).length;
  }

  /** Tokens per target forward. */
  get tau() {
    return this.numDecoded / this.numSteps;
  }

  /** Seconds of decoding: neither model's reading of the prompt is in them. */
  get seconds() {
    return Math.max(0, this.now - this.begin - this.reading);
  }

  get tokensPerSecond() {
    return this.numDecoded / this.seconds;
  }

  get drafted() {
    return this.steps.reduce((sum, step) => sum + (step.verifyTo === undefined ? 0 : step.drafts.length), 0);
  }

  get accepted() {
    return this.tokens.filter((token) => token.source === "accepted").length;
  }
}

/** Whether this is the first token's: the prompt's last row gives it, without a step of its own. */
export function isFirst(step) {
  return step.index === 0;
}
