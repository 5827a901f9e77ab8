/** A run on the page: its text, its lane, its counters. */

import { Counters } from "./counters.js";
import { Lane } from "./lane.js";
import { Run } from "./run.js";
import { TextView } from "./text.js";

const STEP_PX = 84; // of an ordinary step

export class Show {
  /**
   * @param {{texts: Element, lanes: Element, counters: Element}} boxes
   * @param {string} title
   * @param {object} request
   * @param {boolean} showsDrafts
   * @param {(step: object) => void} seen  told of each step as it is known
   */
  constructor(boxes, title, request, showsDrafts, seen) {
    this.boxes = boxes;
    this.title = title;
    this.showsDrafts = showsDrafts;
    this.seen = seen;
    this.run = new Run(request.speculative === false);
    this.text = new TextView(boxes.texts, title, request.prompt);
    this.counters = new Counters(boxes.counters, title);
    this.counters.show(this.run);
    this.lane = null;
  }

  /**
   * Put an event on a player's clock.
   * @param {{event: string, data: object}} told
   * @param {import("./player.js").Player} player
   */
  plan(told, player) {
    const { event, data } = told;
    if (event === "chunk") return;
    if (event !== "drafted") {
      player.add(data.at_s, () => this.#happen(told));
      return;
    }
    const count = data.tokens.length; // one after the other, as they were made
    let step = null;
    for (let i = 0; i < count; i++) {
      player.add(data.at_s - data.elapsed_s * (1 - (i + 1) / count), () => {
        step ??= this.#happen(told);
        if (this.showsDrafts) this.text.draft(step, i);
      });
    }
  }

  #happen(told) {
    const step = this.run.take(told);
    if (!step) return null;
    if (told.event === "verified") this.text.judge(step);
    if (told.event === "emitted") {
      this.text.commit(step);
      this.counters.show(this.run);
    }
    this.lane?.show(step, this.run.begin);
    this.seen(step);
    return step;
  }

  /** Draw the lane, on a scale in pixels a second. */
  drawLane(scale) {
    this.lane = new Lane(this.boxes.lanes, this.title, scale);
  }

  /** The run is over, or was stopped. */
  end() {
    this.text.end();
    this.counters.show(this.run);
  }
}

/**
 * What the first events tell: the tokens a second, and the pixels a second of a lane on which a step can be seen.
 * @param {{event: string, data: object}[]} events
 */
export function tempo(events) {
  const emitted = events.filter(({ event }) => event === "emitted").map(({ data }) => data);
  const begin = events.find(({ event }) => event === "prefilled")?.data.at_s ?? 0;
  const seconds = (emitted.at(-1)?.at_s ?? begin) - begin;
  if (seconds <= 0) return { tokensPerSecond: 0, scale: 1000 };
  const tokens = emitted.reduce((sum, { token_ids }) => sum + token_ids.length, 0);
  return { tokensPerSecond: tokens / seconds, scale: (STEP_PX * emitted.length) / seconds };
}
