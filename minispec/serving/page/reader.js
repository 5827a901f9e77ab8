/** Reads a text to those who listen to the page: whole sentences, and a few at a time. */

const PAUSE_MS = 4000;

export class Reader {
  /** @param {(text: string) => void} say */
  constructor(say) {
    this.say = say;
    this.text = "";
    this.last = performance.now();
  }

  /** Take text; what ends with a sentence is said, unless something was said a moment ago. */
  take(text) {
    this.text += text;
    const whole = this.text.match(/^.*[.!?]["”’)]?(?=\s)/s)?.[0];
    if (!whole || performance.now() - this.last < PAUSE_MS) return;
    this.say(whole);
    this.text = this.text.slice(whole.length);
    this.last = performance.now();
  }

  /** Say the rest. */
  end() {
    if (this.text.trim()) this.say(this.text);
  }
}
