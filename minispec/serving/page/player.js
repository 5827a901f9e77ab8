/** Plays what happened at its own pace: a model that makes a thousand tokens a second is slowed down to be seen. */

export class Player {
  /** @param {number} slower  how many times slower than it happened */
  constructor(slower) {
    this.slower = slower;
    this.queue = []; // {at_s, act}
    this.start = null; // on the page's clock, in seconds, of at_s = 0
    this.over = new Promise((resolve) => (this.finish = resolve));
    this.closed = false;
  }

  /** Let something be seen that happened at at_s. */
  add(at_s, act) {
    this.start ??= now() - at_s * this.slower;
    this.queue.push({ at_s, act });
    if (this.queue.length === 1) this.#tick();
  }

  /** Nothing more comes; `over` resolves when all was seen. */
  close() {
    this.closed = true;
    if (!this.queue.length) this.finish();
  }

  /** Show nothing more. */
  stop() {
    this.queue.length = 0;
    this.close();
  }

  #tick() {
    while (this.queue.length && this.start + this.queue[0].at_s * this.slower <= now()) this.queue.shift().act();
    if (this.queue.length) requestAnimationFrame(() => this.#tick());
    else if (this.closed) this.finish();
  }
}

function now() {
  return performance.now() / 1000;
}

const READING_SPEED = 8; // tokens a second that a reader can follow

/**
 * How many times slower a run must be shown to be followed: two digits, never faster than it was.
 * @param {number} tokensPerSecond
 */
export function slowness(tokensPerSecond) {
  return Math.max(1, Number((tokensPerSecond / READING_SPEED).toPrecision(2)) || 1);
}
