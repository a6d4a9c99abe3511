// A quiet bar while the opponent thinks: as long as its budget, or, without one, as long as its last turns took.

import { make } from "../elements";

const FIRST_GUESS = 1; // seconds
const MEMORY = 0.5; // share of a new turn in what is expected of the next

export class ThinkingBar {
  private readonly bar = make("span", {});
  readonly element = make("span", { class: "thinking", "aria-hidden": "true" }, this.bar);
  private began: number | null = null;
  private expected = FIRST_GUESS;
  private timer = 0;

  /** `budget`: the seconds of a turn, null where it has none. */
  show(thinking: boolean, budget: number | null): void {
    if (!thinking) {
      if (this.began !== null) this.expected += MEMORY * ((performance.now() - this.began) / 1000 - this.expected);
      this.stop();
      return;
    }
    if (this.began !== null) return;
    this.began = performance.now();
    const seconds = budget ?? this.expected;
    const draw = () => {
      const passed = (performance.now() - this.began!) / 1000 / seconds;
      this.bar.style.width = `${100 * Math.min(passed, 1)}%`;
    };
    draw();
    this.timer = window.setInterval(draw, 100);
  }

  stop(): void {
    window.clearInterval(this.timer);
    this.began = null;
    this.bar.style.width = "0";
  }
}
