/**
 * Stop 13 of docs/reading.md: a request becomes a run, and the run the events of docs/http-api.md, as minispec/engine/generation/run.py and
 * minispec/serving/streaming.py make them. It is a generator: whoever reads it may leave between two events.
 */

import { ModelDrafter, NgramDrafter, NoDrafter } from "./drafters.js";
import { decode } from "./loop.js";
import { PhiloxNoise } from "./philox.js";
import { NGRAM } from "./request.js";
import { RULES } from "./rules.js";
import { distribution } from "./sampling.js";
import { Session } from "./session.js";
import { Text } from "./text.js";

const now = () => performance.now() / 1000;

/**
 * @param {object} request  what readRequest returns
 * @param {number[]} prompt  tokens
 * @param {{name: string, target: object, draft: object?, eos: number, tokenizer: object}} models
 * @param {number} arrived  seconds, on now()'s clock
 * @yields {{event: string, data: object}|null}  null where only time has passed
 */
export function* run(request, prompt, { name, target: model, draft: draftModel, eos, tokenizer }, arrived = now()) {
  const { seed, speculative } = request;
  const sampler = (logits) => distribution(logits, request);
  const { verify, coupled } = RULES[speculative?.verify ?? "rejection"];
  const target = new Session(model);
  const own = draftModel && speculative ? new Session(draftModel) : null;
  const drafter = !speculative ? new NoDrafter() : speculative.draft === NGRAM ? new NgramDrafter(model.V) : new ModelDrafter(own, sampler, coupled);
  const text = new Text(prompt, { maxTokens: request.max_tokens, context: model.S, eos }, tokenizer);
  const told = (event, data) => ({ event, data: { event, ...data, index: 0, at_s: now() - arrived } });
  const chunks = new Chunks(name, request, tokenizer);
  const spent = { prefill: 0, late: 0, draft: 0, target: 0, decode: 0 };
  const times = { prefill_s: 0 };

  const started = now();
  for (const block of target.lacks(prompt.slice(0, -1)).slice(0, -1)) {
    target.score(block, 0); // the last block is the loop's, which draws the first token from its last row
    yield null;
  }
  let clock = now();
  let drafted = clock;
  let span = null;
  for (const { draft, step } of decode(text, target, drafter, { sampler, noise: new PhiloxNoise(seed), verify, gamma: speculative?.gamma ?? 0 })) {
    if (draft) {
      drafted = now();
      if (!speculative || !text.steps.length) continue;
      const { tokens, probs } = draft;
      const at = { step: text.steps.length, position: text.tokens.length };
      const lasted = drafted - clock;
      yield told("drafted", { ...at, tokens, probs: tokens.map((token, i) => probs[i][token]), elapsed_s: lasted, parents: null, texts: tokens.map((token) => tokenizer.decode([token])) });
      span = request.provisional ? show(span, text, tokens, tokenizer) : null;
      if (span?.text) yield { event: "provisional", data: { index: 0, span: span.number, step: at.step, at_s: now() - arrived, text: span.text } };
      clock = now() - lasted; // the reader's own time is in no figure
      drafted = now();
      continue;
    }
    const end = now();
    if (!step.index) {
      times.prefill_s = end - started;
      yield told("prefilled", { num_prompt_tokens: prompt.length, elapsed_s: times.prefill_s });
    } else {
      spent.draft += drafted - clock;
      spent.target += end - drafted;
      spent.decode += end - clock;
      if (speculative) yield told("verified", describeVerdict(step, end - drafted));
    }
    const released = step.pieces.map((piece) => piece.text).join("");
    const { index, position, tokens, sources, pieces, details } = step;
    yield told("emitted", { step: index, position, token_ids: tokens, sources, pieces, details, texts: tokens.map((token) => tokenizer.decode([token])) });
    if (span?.text) yield { event: "settled", data: { index: 0, span: span.number, step: index, at_s: now() - arrived, ...settle(span.text, released) } };
    yield chunks.make(released, step);
    if (!index && own && text.finish === null && text.room > 1 && speculative.gamma) {
      const before = now();
      for (const block of own.lacks(text.tokens.slice(0, -1))) {
        own.score(block, 0);
        yield null;
      }
      spent.late = now() - before;
    }
    clock = now();
  }
  const generation = describeRun(request, text, spent, times.prefill_s, name);
  yield told("finished", generation);
  yield chunks.end(generation, speculative);
}

function describeVerdict({ index, position, draft, verdict, targetProbs }, elapsed) {
  const { kept, next, source, acceptProbs } = verdict;
  const judged = { num_accepted: kept, rejected: draft.tokens.slice(kept), next_token: next, source, accept_probs: acceptProbs };
  return { step: index, position, ...judged, elapsed_s: elapsed, target_probs: targetProbs };
}

/** What the reader would see if the whole draft were accepted: whole characters, up to the end of the text. */
function show(before, text, drafted, tokenizer) {
  const end = drafted.indexOf(text.eos);
  const whole = tokenizer.decode([...text.emitted, ...(end < 0 ? drafted : drafted.slice(0, end))], { open: true });
  const shown = whole.slice(text.released.length);
  return { text: shown, number: before ? before.number + (before.text ? 1 : 0) : 0 };
}

function settle(shown, released) {
  const [characters, real] = [[...shown], [...released]];
  let same = 0;
  while (same < characters.length && characters[same] === real[same]) same++;
  return { confirmed: characters.slice(0, same).join(""), retracted: characters.slice(same).join("") };
}

/** The figures of a run, by the names of `minispec generate --json`. */
function describeRun(request, text, spent, prefill, name) {
  const { seed, temperature, top_p, max_tokens, speculative } = request;
  const steps = text.steps.slice(1);
  const count = (of) => steps.reduce((sum, step) => sum + of(step), 0);
  const accepted = (step) => step.sources.filter((source) => source === "accepted").length;
  const evaluated = (step) => step.sources.filter((source) => source === "accepted" || source === "recovered").length;
  const divide = (a, b) => (b ? a / b : null);
  const [made, drafted, kept, judged] = [count((step) => step.tokens.length), count((step) => step.draft.tokens.length), count(accepted), count(evaluated)];
  const longest = Math.max(0, ...steps.map((step) => step.draft.tokens.length));
  const rule = RULES[speculative?.verify];
  const guarantee = temperature === 0 ? "bit-exact" : !rule || rule.sameSeed ? "same-seed" : "same-distribution";
  return {
    prompt: request.prompt,
    text: text.released,
    token_ids: text.emitted,
    sources: text.steps.flatMap((step) => step.sources),
    finish_reason: text.finish,
    stop: null,
    guarantee,
    reproducible: true,
    draft_lengths: steps.map((step) => step.draft.tokens.length),
    token_details: text.steps.flatMap((step) => step.details).map((detail) => ({ ...detail, top: detail.top.map(({ text: _, ...likely }) => likely) })),
    options: { target: name, draft: speculative?.draft ?? null, gamma: speculative?.gamma ?? 0, verify: speculative?.verify ?? "rejection", seed, temperature, top_p, max_tokens },
    metrics: {
      num_prompt_tokens: text.prompt.length,
      num_tokens: text.emitted.length,
      num_decode_tokens: made,
      num_steps: steps.length,
      num_drafts: count((step) => Number(step.draft.tokens.length > 0)),
      num_draft_tokens: drafted,
      num_accepted_tokens: kept,
      num_evaluated_tokens: judged,
      num_accepted_tokens_per_pos: Array.from({ length: longest }, (_, i) => count((step) => Number(accepted(step) > i))),
      mean_acceptance_length: divide(made, steps.length),
      draft_acceptance_rate: divide(kept, drafted),
      alpha: divide(kept, judged),
      prefill_s: prefill + spent.late,
      draft_s: spent.draft,
      target_s: spent.target,
      decode_s: spent.decode,
      ttft_s: text.steps.length ? prefill : null,
      tpot_s: divide(spent.late + spent.decode, made),
    },
  };
}

/** OpenAI's chunks of one answer. */
class Chunks {
  constructor(model, { logprobs, seed, prompt }, tokenizer) {
    this.envelope = { id: `cmpl-${seed}`, object: "text_completion", created: Math.floor(Date.now() / 1000), model };
    Object.assign(this, { count: logprobs, tokenizer, offset: [...prompt].length, decoder: new TextDecoder("utf-8", { ignoreBOM: true }) });
  }

  make(text, step) {
    return this.#wrap({ text, index: 0, logprobs: this.count === null ? null : this.#logprobs(step), finish_reason: null });
  }

  end({ finish_reason: finish, guarantee, options, metrics }, speculative) {
    const { seed, gamma, verify } = options;
    const minispec = { seed, finish, stop: null, draft: speculative?.draft ?? null, gamma, verify, arm: null, guarantee, reproducible: true, metrics };
    return this.#wrap({ text: "", index: 0, logprobs: null, finish_reason: finish === "eos" ? "stop" : "length", minispec });
  }

  #wrap(choice) {
    return { event: "chunk", data: { ...this.envelope, choices: [choice], usage: null } };
  }

  #logprobs({ tokens, details }) {
    const lists = { tokens: [], token_logprobs: [], top_logprobs: this.count ? [] : null, text_offset: [] };
    for (const [i, token] of tokens.entries()) {
      const name = this.tokenizer.name(token);
      lists.tokens.push(name);
      lists.token_logprobs.push(details[i].logprob);
      lists.text_offset.push(this.offset); // a token that begins within a character has that character's place
      this.offset += [...this.decoder.decode(this.tokenizer.bytes[token], { stream: true })].length;
      const listed = details[i].top.slice(0, this.count).map(({ token: likely, logprob }) => [this.tokenizer.name(likely), logprob]);
      lists.top_logprobs?.push(Object.fromEntries([...listed, [name, details[i].logprob]]));
    }
    return lists;
  }
}
