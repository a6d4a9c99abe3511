// Two programs, watched: both views and the truth as the game goes on, with pause and single steps.

import { field, make, select, warning } from "../elements";
import { ClockFace } from "../clock";
import { type Page, go } from "../page";
import type { About, WatchGreeting, WatchMessage, WatchState } from "../protocol";
import { GameSocket, post } from "../server";
import { BotChoice, clockChoice, clockOf, faults, setupForm } from "../play/setup";
import { Boards } from "../review/boards";
import { thoughtView } from "../review/analysis_panel";
import { Curves } from "../review/curves";
import { GameModel, stepSentence } from "../review/game_model";
import { UNKEPT, resultLine } from "../words";

export function watchSetup(about: About): Page {
  const white = new BotChoice(about, "White", "penumbra");
  const black = new BotChoice(about, "Black", "strange-fish-2");
  const clock = clockChoice();
  const form = setupForm(
    "Watch",
    "Two programs play; you see the truth, and what each of them can know.",
    [...faults(about), white.element, black.element, field("Clock", clock)],
    async () => {
      const wish = { mode: "watch", white: white.value, black: black.value, clock: clockOf(clock.value), seconds: 0.8 };
      go(`#/watch/${(await post<{ game: string }>("/api/games", wish)).game}`);
    },
  );
  return { element: make("div", { class: "narrow" }, form), destroy: () => undefined };
}

export function watchGame(id: string): Page {
  return new WatchPage(id);
}

class WatchPage implements Page {
  readonly element = make("div", { class: "review watch" }, make("p", { class: "loading" }, "Connecting…"));
  private readonly boards = new Boards("all");
  private readonly curves = new Curves(() => undefined);
  private readonly sentence = make("p", { class: "sentence", role: "status" });
  private readonly lost = warning("The connection to the server is lost. Trying to come back…");
  private readonly unkept = warning(UNKEPT);
  private readonly pause = make(
    "button",
    { type: "button", class: "primary", onclick: () => this.togglePause() },
    "Pause",
  );
  private readonly next = make(
    "button",
    { type: "button", onclick: () => this.socket.send({ type: "step" }) },
    "One step",
  );
  private readonly speed = select(
    [
      ["2", "slow"],
      ["0.8", "normal"],
      ["0.1", "fast"],
    ],
    "0.8",
  );
  private readonly thoughts = { white: silence(), black: silence() };
  private readonly clocks = { white: new ClockFace("white"), black: new ClockFace("black") };
  private readonly after = make("div", { class: "actions", hidden: true });
  private readonly socket: GameSocket<WatchMessage>;
  private game: GameModel | null = null;
  private state: WatchState | null = null;

  constructor(private readonly id: string) {
    this.socket = new GameSocket<WatchMessage>(id, {
      message: (message) => this.receive(message),
      connected: (yes) => (this.lost.hidden = yes),
      refused: (reason) =>
        this.element.replaceChildren(make("p", { class: "card fault" }, `The server says: ${reason}.`)),
    });
    this.speed.setAttribute("aria-label", "Speed");
    this.speed.addEventListener("change", () => this.pace(this.state?.phase === "paused"));
  }

  destroy(): void {
    this.socket.close();
    this.boards.destroy();
    for (const clock of Object.values(this.clocks)) clock.stop();
  }

  private receive(message: WatchMessage): void {
    if (message.type === "game") this.begin(message);
    else if (message.type === "update") {
      if (message.step && this.game && message.step.step === this.game.end) this.game.add(message.step);
      this.setState(message.state);
      this.show(true);
    } else this.sentence.textContent = message.message;
  }

  private begin({ game, steps, state }: WatchGreeting): void {
    this.game = new GameModel({
      type: "penumbra review",
      protocol: 1,
      white: game.white.name,
      black: game.black.name,
      start: game.start,
      result: state.result,
    });
    for (const step of steps) this.game.add(step);
    const side = (color: "white" | "black") =>
      make(
        "section",
        { class: "card" },
        make("h2", {}, `${game[color].name} `, this.clocks[color].element),
        this.thoughts[color],
      );
    this.element.replaceChildren(
      make("header", { class: "review-head" }, make("h1", {}, `${game.white.name} v ${game.black.name}`)),
      this.lost,
      this.unkept,
      this.boards.element,
      this.sentence,
      make("div", { class: "transport" }, this.pause, this.next, this.speed, this.after),
      this.curves.element,
      make("div", { class: "columns" }, side("white"), side("black")),
    );
    this.setState(state);
    this.show(false);
  }

  private setState(state: WatchState): void {
    this.state = state;
    this.unkept.hidden = state.kept;
    const over = state.phase === "over";
    this.pause.textContent = state.phase === "paused" ? "Go on" : "Pause";
    this.pause.hidden = this.next.hidden = this.speed.hidden = over;
    this.next.disabled = state.phase !== "paused";
    for (const clock of Object.values(this.clocks)) clock.show(state.clocks);
    if (over) {
      this.after.replaceChildren(
        make(
          "button",
          { type: "button", class: "primary", onclick: () => go(`#/review/game/${this.id}`) },
          "Review the game",
        ),
      );
      this.after.hidden = false;
    }
  }

  private show(animated: boolean): void {
    const { game, state } = this;
    if (!game || !state) return;
    this.boards.show(game, game.end, animated);
    this.curves.draw(game, game.end);
    this.curves.mark(game, game.end);
    const last = game.steps.at(-1);
    const words = last ? stepSentence(last, game.pieces(game.end - 1)) : "The game begins.";
    this.sentence.textContent = state.phase === "over" ? `${words} ${resultLine(state.result)}` : words;
    if (last?.thought) this.thoughts[last.color].replaceChildren(thoughtView(last.thought));
  }

  private togglePause(): void {
    this.pace(this.state?.phase !== "paused");
  }

  private pace(paused: boolean): void {
    this.socket.send({ type: "pace", paused, seconds: Number(this.speed.value) });
  }
}

const silence = (): HTMLElement =>
  make("div", {}, make("small", {}, "Nothing said yet. Only Penumbra tells what it thinks."));
