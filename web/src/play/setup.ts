// Before a game: the opponent, its strength, the colour, the clock; and the games that are not over yet.

import { choice, field, labelled, make, select } from "../elements";
import { type Page, go } from "../page";
import type { About, History, Strength } from "../protocol";
import { rulesList } from "../rules";
import { Refused, get, post } from "../server";
import { remember, settings } from "../settings";
import type { Color } from "../squares";
import { friendSetup } from "./friend";
import { Ladder } from "./ladder";
import { ongoingGames } from "./ongoing";

type WantedColor = Color | "random";

export const colorChoice = (chosen: WantedColor, onChange: (color: WantedColor) => void): HTMLElement =>
  choice<WantedColor>(
    "Your colour",
    [
      ["white", "White"],
      ["random", "Either"],
      ["black", "Black"],
    ],
    chosen,
    onChange,
  );

const CLOCKS: [string, string][] = [
  ["", "No clock"],
  ["900+5", "15 minutes + 5 seconds a turn"],
  ["300+3", "5 minutes + 3 seconds a turn"],
  ["60+2", "1 minute + 2 seconds a turn"],
];

const THINKING: [seconds: string, text: string][] = [
  ["0.5", "Half a second a step"],
  ["2", "2 seconds a step"],
  ["5", "5 seconds a step"],
  ["15", "15 seconds a step"],
];

const thinkingChoice = (chosen: string): HTMLSelectElement => select(THINKING, chosen);

export function clockOf(value: string): { seconds: number; increment: number } | null {
  const [seconds, increment] = value.split("+").map(Number);
  return seconds ? { seconds, increment: increment ?? 0 } : null;
}

export function clockWords(clock: { seconds: number; increment: number } | null): string {
  if (!clock) return "there is no clock";
  const known = CLOCKS.find(([value]) => value === `${clock.seconds}+${clock.increment}`);
  return known?.[1] ?? `${clock.seconds} seconds + ${clock.increment} a turn`;
}

/** A bot and, where it takes one, its strength. */
export class BotChoice {
  readonly element: HTMLElement;
  private readonly bot: HTMLSelectElement;
  private readonly strength = thinkingChoice("0.5");
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
    return { player: this.bot.value, strength: takes ? { seconds: Number(this.strength.value) } : {} };
  }
}

/** Why players are missing from the list, if any are. */
export const faults = ({ fault }: About): HTMLElement[] =>
  fault ? [make("p", { class: "fault", role: "alert" }, `${fault}.`)] : [];

export const clockChoice = (chosen = ""): HTMLSelectElement => select(CLOCKS, chosen);

/** A form that starts a game; what the server refuses stands under its button. */
export function setupForm(
  title: string,
  lead: string,
  fields: HTMLElement[],
  startGame: () => Promise<void>,
  words = "Start the game",
): HTMLElement {
  const fault = make("p", { class: "fault", role: "alert" });
  const start = make("button", { type: "submit", class: "primary" }, words);
  const form = make(
    "form",
    { class: title ? "card setup" : "setup" },
    title && make("h1", {}, title),
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
  const chosen = settings();
  const strength = thinkingChoice("2");
  const strengthField = field("Its time to think", strength);
  const ladder = new Ladder(about, chosen.opponent, (bot) => {
    strengthField.hidden = !bot.takes_strength;
  });
  strengthField.hidden = !ladder.bot?.takes_strength;
  let color: WantedColor = chosen.color;
  const colors = colorChoice(color, (value) => (color = value));
  const clock = clockChoice(chosen.clock);
  const form = setupForm(
    "Play",
    "You do not see your opponent's pieces. Each turn you first look at one 3×3 window, then move.",
    [
      ...faults(about),
      ladder.element,
      strengthField,
      make("div", { class: "row" }, labelled("Your colour", colors), field("Clock", clock)),
    ],
    async () => {
      const bot = ladder.bot!;
      remember({ opponent: bot.name, color, clock: clock.value });
      const opponent = { player: bot.name, strength: bot.takes_strength ? { seconds: Number(strength.value) } : {} };
      const wish = { mode: "play", opponent, color, clock: clockOf(clock.value) };
      go(`#/play/${(await post<{ game: string }>("/api/games", wish)).game}`);
    },
  );
  get<History>("/api/history").then(
    ({ games }) => ladder.score(games),
    () => undefined, // then there is no score to show
  );
  const rules = make(
    "details",
    { class: "card" },
    make("summary", {}, "How reconnaissance blind chess is played"),
    rulesList(),
  );
  const element = make("div", { class: "narrow" }, welcome(), form, friendSetup(), ongoingGames(), rules);
  return { element, destroy: () => undefined };
}

/** On a first visit: where to begin. */
function welcome(): HTMLElement | null {
  if (settings().learned.length || settings().greeted) return null;
  const skip = make("button", { type: "button", class: "quiet" }, "I know the game");
  const card = make(
    "section",
    { class: "card welcome" },
    make("h2", {}, "New here?"),
    make(
      "p",
      {},
      "Five short lessons, played on the board, show what is different from chess. They take five minutes.",
    ),
    make("div", { class: "actions" }, make("a", { class: "button primary", href: "#/learn" }, "Learn the game"), skip),
  );
  skip.addEventListener("click", () => {
    remember({ greeted: true });
    card.remove();
  });
  return card;
}
