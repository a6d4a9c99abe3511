// The player's own turns, one a line; a click goes back to how things stood after it.

import { make } from "../elements";
import type { Turn } from "./knowledge";

export class TurnList {
  private readonly list = make("ol", { class: "moves", "aria-label": "Turns", tabindex: "0" });
  readonly element = this.list;
  private drawn = "";

  constructor(private readonly choose: (turn: number) => void) {
    this.list.addEventListener("click", (event) => {
      const line = (event.target as HTMLElement).closest<HTMLElement>("[data-turn]");
      if (line) this.choose(Number(line.dataset["turn"]));
    });
  }

  /** `current`: the turn that is looked at, null for now. */
  show(turns: readonly Turn[], current: number | null): void {
    const text = JSON.stringify([turns, current]);
    if (text === this.drawn) return;
    this.drawn = text;
    this.list.replaceChildren(...turns.map((turn) => line(turn, turn.number === current)));
    if (current === null) this.list.scrollTop = this.list.scrollHeight;
  }
}

function line({ number, sense, move, notices }: Turn, current: boolean): HTMLElement {
  return make(
    "li",
    {},
    make(
      "button",
      { type: "button", "data-turn": number, "aria-current": current ? "step" : null },
      make("span", { class: "number" }, `${number}.`),
      make("span", { class: "sensed", title: "sensed" }, sense ? `◎ ${sense}` : ""),
      make("span", { class: "moved" }, move),
    ),
    ...notices.map((words) => make("small", {}, words)),
  );
}
