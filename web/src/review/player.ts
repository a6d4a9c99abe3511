// Going through a game: the scrubber, its buttons and keys, autoplay, landmarks.

import { make, select } from "../elements";
import { isTyping } from "../page";
import type { GameModel, Landmark } from "./game_model";

const SPEEDS: [string, string][] = [
  ["1500", "slow"],
  ["700", "normal"],
  ["250", "fast"],
];
const LANDMARKS: [Landmark, string][] = [
  ["capture", "capture"],
  ["surprise", "surprise"],
  ["blunder", "blunder"],
];

export class Scrubber {
  readonly element: HTMLElement;
  position = 0;
  private readonly range = make("input", {
    type: "range",
    min: 0,
    max: 0,
    value: 0,
    "aria-label": "Step",
    class: "scrubber",
  });
  private readonly play: HTMLButtonElement;
  private readonly speed = select(SPEEDS, "700");
  private timer = 0;

  constructor(
    private readonly game: GameModel,
    private readonly show: (position: number, animated: boolean) => void,
    private readonly tell: (words: string) => void,
  ) {
    const button = (label: string, text: string, act: () => void) =>
      make("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    this.play = button("Play", "▶", () => this.toggle());
    this.speed.setAttribute("aria-label", "Speed");
    this.range.addEventListener("input", () => this.go(Number(this.range.value)));
    const far = (element: HTMLElement) => {
      element.classList.add("far");
      return element;
    };
    const jumps = LANDMARKS.map(([kind, name]) =>
      make(
        "button",
        { type: "button", class: "quiet", onclick: () => this.jump(kind), title: `To the next ${name}` },
        make("span", {}, "Next "),
        name,
      ),
    );
    this.element = make(
      "div",
      { class: "player" },
      make(
        "div",
        { class: "transport" },
        far(button("To the start", "|◀", () => this.go(0))),
        button("Back", "◀", () => this.step(-1)),
        this.play,
        button("Forward", "▶", () => this.step(1)),
        far(button("To the end", "▶|", () => this.go(game.end))),
        this.speed,
      ),
      this.range,
      make("div", { class: "jumps" }, ...jumps),
    );
    this.play.classList.add("primary");
    this.play.textContent = "Play";
    document.addEventListener("keydown", this.key);
  }

  /** There are more steps now; `total` will there be at last. */
  grow(total: number): void {
    this.range.max = String(total);
  }

  go(position: number, animated = false): void {
    this.position = Math.max(0, Math.min(position, this.game.end));
    this.range.value = String(this.position);
    this.range.setAttribute("aria-valuetext", `step ${this.position} of ${this.game.end}`);
    this.show(this.position, animated);
  }

  step(by: number): void {
    this.go(this.position + by, true);
  }

  destroy(): void {
    this.stop();
    document.removeEventListener("keydown", this.key);
  }

  private jump(kind: Landmark): void {
    const all = this.game.landmarks(kind);
    const next = all.find((position) => position > this.position) ?? all[0];
    if (next !== undefined) this.go(next);
    else
      this.tell(
        kind === "blunder" ? "No blunder is known: let Penumbra analyse the whole game." : `There is no ${kind}.`,
      );
  }

  private toggle(): void {
    if (this.timer) {
      this.stop();
      return;
    }
    if (this.position >= this.game.end) this.go(0);
    this.play.textContent = "Pause";
    this.play.setAttribute("aria-label", "Pause");
    const tick = () => {
      this.step(1);
      if (this.position >= this.game.end) this.stop();
      else this.timer = window.setTimeout(tick, Number(this.speed.value));
    };
    this.timer = window.setTimeout(tick, 0);
  }

  private stop(): void {
    window.clearTimeout(this.timer);
    this.timer = 0;
    this.play.textContent = "Play";
    this.play.setAttribute("aria-label", "Play");
  }

  private readonly key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && !isTyping(event)) this.toggle();
    else if (event.target === this.range || /^(INPUT|SELECT|TEXTAREA)$/.test((event.target as Element).tagName)) return;
    else if (event.key === "ArrowRight") this.step(1);
    else if (event.key === "ArrowLeft") this.step(-1);
    else if (event.key === "Home") this.go(0);
    else if (event.key === "End") this.go(this.game.end);
    else return;
    event.preventDefault();
  };
}
