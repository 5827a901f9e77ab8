/** Beside stop 13 of docs/reading.md: a request as docs/http-api.md has it, checked: the fields that this page knows, and their bounds. */

import { RULES } from "./rules.js";

/** A request that cannot be answered; the message says the value, the rule and the way out. */
export class Refused extends Error {}

export const NGRAM = "ngram";
export const PLAIN = "none";
const BOUNDS = { temperature: [0, 2], top_p: [Number.MIN_VALUE, 1], max_tokens: [1, Infinity], seed: [0, Number.MAX_SAFE_INTEGER], logprobs: [0, 5] };
const WHOLE = ["max_tokens", "seed", "logprobs"];
const FLAGS = ["stream", "events", "provisional"];
const MAX_GAMMA = 32;

/**
 * Check a request and fill in what it leaves out.
 * @param {object} body
 * @param {{model: string, drafts: string[]}} there
 */
export function readRequest(body, { model, drafts }) {
  const read = { temperature: 1, top_p: 1, max_tokens: 16, seed: Math.floor(Math.random() * 2 ** 31), logprobs: null, provisional: false, ...body };
  for (const [field, value] of Object.entries(read)) {
    if (field in BOUNDS && !(field === "logprobs" && value === null)) check(field, value, ...BOUNDS[field]);
    else if (!["model", "prompt", "speculative", "logprobs", ...FLAGS].includes(field)) throw new Refused(`${field} is nothing that this page knows; leave it out`);
  }
  if (read.model !== model) throw new Refused(`the model is ${JSON.stringify(read.model)}; this page has ${model}`);
  if (typeof read.prompt !== "string" || !read.prompt.isWellFormed()) throw new Refused("the prompt must be a text of valid Unicode. Type it again");
  return { ...read, speculative: readSpeculative(read.speculative ?? {}, drafts) };
}

function readSpeculative(asked, drafts) {
  if (asked === false || asked.draft === PLAIN) return null;
  const { draft = drafts[0], verify = "rejection", gamma = 3 } = asked;
  if (!drafts.includes(draft)) throw new Refused(`draft is ${JSON.stringify(draft)}; this page has ${[...drafts, PLAIN].join(", ")}`);
  if (!Object.hasOwn(RULES, verify)) throw new Refused(`verify is ${JSON.stringify(verify)}; this page has ${Object.keys(RULES).join(", ")}`);
  check("gamma", gamma, 0, MAX_GAMMA, true);
  return { draft, verify, gamma };
}

function check(field, value, least, most, whole = WHOLE.includes(field)) {
  const fits = typeof value === "number" && value >= least && value <= most && (!whole || Number.isInteger(value));
  const [from, to] = [least === Number.MIN_VALUE ? "more than 0" : `${least} or more`, most === Infinity ? "" : `, up to ${most}`];
  if (!fits) throw new Refused(`${field} is ${JSON.stringify(value)}; it must be a ${whole ? "whole " : ""}number, ${from}${to}`);
}

/** The tokens of a prompt, which must leave room for one more, or for several. */
export function readPrompt(prompt, tokenizer, { name, context }, room = 1) {
  const [size, most] = [new TextEncoder().encode(prompt).length, context * tokenizer.longest];
  if (size > most) throw new Refused(`the prompt has ${size} bytes; ${name} holds ${context} tokens, which are at most ${most} bytes. Shorten it`);
  const tokens = tokenizer.encode(prompt);
  if (!tokens.length) throw new Refused("the prompt is empty; a model continues at least one token. Try '<|endoftext|>' for a fresh text");
  if (tokens.length + room <= context) return tokens;
  const fresh = room === 1 ? "one new one" : `${room} new ones`;
  throw new Refused(`the prompt has ${tokens.length} tokens; ${name} holds ${context} with at least ${fresh}. Shorten it to ${context - room} tokens`);
}
