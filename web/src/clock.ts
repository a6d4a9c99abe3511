// Both clocks, running between the server's messages.

import { make } from "./elements";
import type { Clocks } from "./protocol";
import type { Color } from "./squares";
import { clockText } from "./words";

const LOW = 20; // seconds

export class ClockFace {
  readonly element = make("span", { class: "clock", role: "timer", hidden: true });
  private timer = 0;

  constructor(private readonly color: Color) {}

  show(clocks: Clocks | null): void {
    window.clearInterval(this.timer);
    this.element.hidden = !clocks;
    if (!clocks) return;
    const running = clocks.running === this.color;
    const end = performance.now() + 1000 * clocks[this.color];
    const draw = () => {
      const left = running ? (end - performance.now()) / 1000 : clocks[this.color];
      this.element.textContent = clockText(left);
      this.element.classList.toggle("low", left < LOW);
    };
    this.element.classList.toggle("running", running);
    draw();
    if (running) this.timer = window.setInterval(draw, 200);
  }

  stop(): void {
    window.clearInterval(this.timer);
  }
}
