// Opponents as a ladder: from the weakest to the strongest, with a rating and a line on their style.

import { make } from "../elements";
import type { About, Bot, PastGame } from "../protocol";

const LEVEL = /^penumbra:\d$/;
const MORE = /^(penumbra:[a-z]|reconchess:)/; // for those who look for them

/** Whether the player belongs on the ladder; the rest are variants of the paper and other programs' players. */
const onLadder = (bot: Bot): boolean => !MORE.test(bot.name);

const byRating = (a: Bot, b: Bot): number => height(a) - height(b);

/** Those without a rating: levels by their number, Penumbra without limit above all, others in between. */
function height(bot: Bot): number {
  if (bot.rating !== null) return bot.rating;
  return bot.name === "penumbra" ? 10_000 : 1_300;
}

export class Ladder {
  readonly element: HTMLElement;
  private chosen: string;

  constructor(
    private readonly about: About,
    chosen: string,
    private readonly changed: (bot: Bot) => void,
  ) {
    const known = about.players.some(({ name }) => name === chosen);
    this.chosen = known ? chosen : (about.players.find(onLadder)?.name ?? "random");
    const group = (bots: Bot[]) => bots.map((bot) => this.rung(bot));
    const more = about.players.filter((bot) => !onLadder(bot));
    this.element = make(
      "fieldset",
      { class: "ladder" },
      make("legend", {}, "Opponent"),
      make("div", { class: "rungs" }, ...group(about.players.filter(onLadder).sort(byRating))),
      more.length > 0 &&
        make(
          "details",
          { open: more.some(({ name }) => name === this.chosen) },
          make("summary", {}, "Variants of the paper, and other programs' players"),
          make("div", { class: "rungs" }, ...group(more)),
        ),
    );
  }

  get bot(): Bot | undefined {
    return this.about.players.find(({ name }) => name === this.chosen);
  }

  /** Shows how often this person has won and lost against each. */
  score(games: readonly PastGame[]): void {
    for (const rung of this.element.querySelectorAll<HTMLElement>("[data-player]")) {
      const text = scoreText(games.filter(({ opponent }) => opponent.player === rung.dataset["player"]));
      rung.querySelector(".score")!.textContent = text;
    }
  }

  private rung(bot: Bot): HTMLElement {
    const input = make("input", {
      type: "radio",
      name: "opponent",
      value: bot.name,
      checked: bot.name === this.chosen,
    });
    input.addEventListener("change", () => {
      this.chosen = bot.name;
      this.changed(bot);
    });
    return make(
      "label",
      { class: LEVEL.test(bot.name) || bot.name === "penumbra" ? "rung ours" : "rung", "data-player": bot.name },
      input,
      make("strong", {}, bot.title),
      make("span", { class: "rating" }, bot.rating === null ? "" : String(bot.rating)),
      make("small", {}, `${bot.line[0]!.toUpperCase()}${bot.line.slice(1)}.`),
      make("span", { class: "score" }),
    );
  }
}

/** Won, drawn and lost games against one opponent; those that went on from another game do not count. */
export function scoreText(games: readonly PastGame[]): string {
  const over = games.filter(({ result, retried }) => result && result.reason !== "CRASH" && retried === null);
  if (!over.length) return "";
  const won = over.filter(({ result, color }) => result!.winner === color).length;
  const drawn = over.filter(({ result }) => result!.winner === null).length;
  return `${won} won, ${drawn ? `${drawn} drawn, ` : ""}${over.length - won - drawn} lost`;
}
