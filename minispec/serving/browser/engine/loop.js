/**
 * Stop 1 of docs/reading.md: draft, verify, commit, go back. Algorithm 1 of Leviathan, Kalman and Matias 2023, as
 * minispec/engine/generation/loop.py: between steps the target's cache holds all committed tokens but the last, so one token is always pending.
 */

import { NOTHING } from "./drafters.js";
import { Coins } from "./philox.js";

/**
 * Decode until the text is finished.
 * @param {import("./text.js").Text} text  receives the steps
 * @param {import("./session.js").Session} target
 * @param {{propose: Function, rollback: Function}} drafter
 * @param {{sampler: Function, noise: object, verify: Function, gamma: number}} how
 * @yields {{draft: object}|{step: object}}  a draft to be verified, then the step that came of it
 */
export function* decode(text, target, drafter, { sampler, noise, verify, gamma }) {
  while (text.finish === null) {
    const { tokens } = text;
    const coins = new Coins(noise, tokens.length, text.steps.length);

    // 1. Draft a few tokens, each from the drafter's distribution q given those before it; none for the first.
    const draft = text.steps.length ? drafter.propose(tokens, Math.min(gamma, text.room - 1), coins) : NOTHING;
    yield { draft };

    // 2. One target forward over them all: its distribution p for each of their places, and for the one behind.
    const logits = target.score([...tokens.slice(target.length), ...draft.tokens], draft.tokens.length + 1);
    const rows = logits.map(sampler);

    // 3. Keep what the rule accepts; the target's own token follows.
    const verdict = verify(draft, rows, coins);

    // 4. Commit, and set both back to all committed tokens but the last.
    const step = text.commit(draft, verdict, logits, rows);
    target.rollback(text.tokens.length - 1);
    drafter.rollback(text.tokens.length - 1);
    yield { step };
  }
}
