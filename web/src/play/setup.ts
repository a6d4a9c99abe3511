// Before a game: the opponent, its strength, the colour, the clock; and the games that are not over yet.

import { choice, field, labelled, make, select } from "../elements";
import { type Page, go } from "../page";
import type { About, Strength } from "../protocol";
import { Refused, post } from "../server";
import type { Color } from "../squares";
import { ongoingGames } from "./ongoing";

type WantedColor = Color | "random";

const CLOCKS: [string, string][] = [
  ["", "No clock"],
  ["900+5", "15 minutes + 5 seconds a turn"],
  ["300+3", "5 minutes + 3 seconds a turn"],
  ["60+2", "1 minute + 2 seconds a turn"],
];

const STRENGTHS: [string, string][] = [
  ["nodes:200", "Quick: 200 nodes a step"],
  ["seconds:0.5", "Half a second a step"],
  ["seconds:2", "2 seconds a step"],
  ["seconds:5", "5 seconds a step"],
  ["seconds:15", "15 seconds a step"],
];

export function strengthOf(value: string): Strength {
  const [kind, amount] = value.split(":");
  return kind === "nodes" ? { nodes: Number(amount) } : { seconds: Number(amount) };
}

export function clockOf(value: string): { seconds: number; increment: number } | null {
  const [seconds, increment] = value.split("+").map(Number);
  return seconds ? { seconds, increment: increment ?? 0 } : null;
}

/** A bot and, where it takes one, its strength. */
export class BotChoice {
  readonly element: HTMLElement;
  private readonly bot: HTMLSelectElement;
  private readonly strength = select(STRENGTHS, "seconds:0.5");
  private readonly line = make("small", { class: "line" });

  constructor(
    private readonly about: About,
    label: string,
    chosen: string,
  ) {
    this.bot = select(
      about.players.map(({ name, title }) => [name, title]),
      chosen,
    );
    const strength = field("Strength", this.strength);
    const update = () => {
      const bot = about.players.find(({ name }) => name === this.bot.value);
      strength.hidden = !bot?.takes_strength;
      this.line.textContent = bot?.line ? `${bot.title} ${bot.line}.` : "";
    };
    this.bot.addEventListener("change", update);
    update();
    this.element = make("div", { class: "fields" }, field(label, this.bot), this.line, strength);
  }

  get value(): { player: string; strength: Strength } {
    const takes = this.about.players.find(({ name }) => name === this.bot.value)?.takes_strength;
    return { player: this.bot.value, strength: takes ? strengthOf(this.strength.value) : {} };
  }
}

/** Why players are missing from the list, if any are. */
export const faults = ({ fault }: About): HTMLElement[] =>
  fault ? [make("p", { class: "fault", role: "alert" }, `${fault}.`)] : [];

export const clockChoice = (): HTMLSelectElement => select(CLOCKS);

/** A form that starts a game; what the server refuses stands under its button. */
export function setupForm(
  title: string,
  lead: string,
  fields: HTMLElement[],
  startGame: () => Promise<void>,
): HTMLElement {
  const fault = make("p", { class: "fault", role: "alert" });
  const start = make("button", { type: "submit", class: "primary" }, "Start the game");
  const form = make(
    "form",
    { class: "card setup" },
    make("h1", {}, title),
    make("p", { class: "lead" }, lead),
    ...fields,
    start,
    fault,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    start.disabled = true;
    fault.textContent = "";
    try {
      await startGame();
    } catch (error) {
      fault.textContent = error instanceof Refused ? `The game could not be started: ${error.message}.` : String(error);
      start.disabled = false;
    }
  });
  return form;
}

export function playSetup(about: About): Page {
  const bot = new BotChoice(about, "Opponent", "penumbra");
  let color: WantedColor = "white";
  const colors = choice<WantedColor>(
    "Your colour",
    [
      ["white", "White"],
      ["random", "Either"],
      ["black", "Black"],
    ],
    color,
    (value) => (color = value),
  );
  const clock = clockChoice();
  const form = setupForm(
    "Play",
    "You do not see your opponent's pieces. Each turn you first look at one 3×3 window, then move.",
    [...faults(about), bot.element, labelled("Your colour", colors), field("Clock", clock)],
    async () => {
      const wish = { mode: "play", opponent: bot.value, color, clock: clockOf(clock.value) };
      go(`#/play/${(await post<{ game: string }>("/api/games", wish)).game}`);
    },
  );
  return { element: make("div", { class: "narrow" }, form, ongoingGames(), rules()), destroy: () => undefined };
}

function rules(): HTMLElement {
  return make(
    "details",
    { class: "card rules" },
    make("summary", {}, "How reconnaissance blind chess is played"),
    make(
      "ul",
      {},
      make("li", {}, "You win by capturing the king. There is no check and no mate."),
      make("li", {}, "Before each move you sense: the nine squares around one square are shown to you, as they are."),
      make("li", {}, "You are told when one of your pieces is captured, and where; not by what."),
      make("li", {}, "A piece that slides stops at the first opposing piece in its way and captures it."),
      make("li", {}, "A pawn moves diagonally only to capture; a move that is not possible is lost, like a pass."),
      make("li", {}, "You may castle out of, through and into danger, and you may pass."),
    ),
  );
}
