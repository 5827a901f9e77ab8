/** A run on the page: its text, its lane, its counters. */

import { Counters } from "./counters.js";
import { eachFrame } from "./dom.js";
import { Lane } from "./lane.js";
import { Run, isFirst } from "./run.js";
import { TextView } from "./text.js";

const STEP_PX = 84; // of an ordinary step
const LEAST_PX = 6; // of a step, on average

export class Show {
  /**
   * @param {{texts: Element, lanes: Element, counters: Element}} boxes
   * @param {string} title
   * @param {object} request
   * @param {boolean} showsDrafts
   * @param {(step: object, event: string) => void} seen  told of each step as it is known
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
    this.count = eachFrame(() => this.counters.show(this.run));
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
    const count = event === "drafted" ? data.tokens.length : 0;
    if (!count) {
      player.add(data.at_s, () => this.#happen(told));
      return;
    }
    let step = null; // drafts appear one after the other, as they were made
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
      this.count();
    }
    if (!isFirst(step)) this.lane?.show(step, this.run.begin);
    this.seen(step, told.event);
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
 * What the first events tell: the tokens a second, and the pixels a second of a lane on which a step can be seen. The
 * median step counts: the first one may have waited.
 * @param {{event: string, data: object}[]} events
 */
export function tempo(events) {
  const ends = events.filter(({ event }) => event === "emitted").map(({ data }) => data);
  const lengths = ends.slice(1).map(({ at_s }, i) => at_s - ends[i].at_s);
  const median = lengths.sort((a, b) => a - b)[Math.floor(lengths.length / 2)];
  if (!(median > 0)) return { tokensPerSecond: 0, scale: 1000 };
  const tokens = ends.slice(1).reduce((sum, { token_ids }) => sum + token_ids.length, 0);
  return { tokensPerSecond: tokens / lengths.length / median, scale: STEP_PX / median };
}

/**
 * The pixels a second at which whole runs fit a lane, if their steps can still be seen.
 * @param {{event: string, data: object}[][]} films
 * @param {number} width  pixels
 */
export function fitting(films, width) {
  const fits = (film) => {
    const ends = film.filter(({ event }) => event === "emitted");
    return Math.max(width, LEAST_PX * (ends.length - 1)) / (film.at(-1).data.at_s - ends[0].data.at_s);
  };
  return Math.min(...films.map(fits));
}
