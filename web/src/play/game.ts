// A game being played: the table, what to do now, what happened, and how it ended.

import { alertUser, say } from "../announce";
import { setTurn } from "../attention";
import { ClockFace } from "../clock";
import { choice, labelled, make, warning } from "../elements";
import type { Page } from "../page";
import type { GameEvent, PlayGreeting, PlayMessage, PlayState } from "../protocol";
import { PROTOCOL } from "../protocol";
import { showRules } from "../rules";
import { GameSocket } from "../server";
import { remember, settings } from "../settings";
import { play, toggleSounds } from "../sounds";
import { type Color, opponent, piecesOfFen } from "../squares";
import { UNKEPT, count, resultFor, sideName } from "../words";
import { Ending } from "./ending";
import { invitation, linkToShare } from "./friend";
import { hintWords } from "./hints";
import { forgetGame, rememberGame } from "./ongoing";
import { type Help, Table } from "./table";
import { ThinkingBar } from "./thinking";
import { TurnList } from "./turn_list";

export const START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR";
const SPOKEN: Record<PlayState["phase"], string> = {
  invited: "",
  sense: "Your turn: sense.",
  move: "Now move.",
  waiting: "",
  over: "The game is over.",
};

export function playGame(id: string): Page {
  return new PlayPage(id);
}

class PlayPage implements Page {
  readonly element = make("div", { class: "table" });
  private readonly banner = make("p", { class: "banner" });
  private readonly thinking = new ThinkingBar();
  private readonly notices = make("ul", { class: "notices", "aria-label": "What happened", tabindex: "0" });
  private readonly lost = warning("The connection to the server is lost. Trying to come back…");
  private readonly unkept = warning(UNKEPT);
  private readonly nothing = button("Sense nothing", () => this.table?.senseNothing());
  private readonly pass = button("Pass", () => this.table?.pass());
  private readonly resign = button("Resign", () => this.giveUp(), "quiet");
  private readonly hint = button("Hint", () => this.askHint(), "quiet");
  private readonly states = make("p", { class: "states" });
  private readonly assisted = make("small", { class: "assisted" });
  private readonly turns = new TurnList((turn) => this.table?.lookAtTurn(turn));
  private readonly clocks: Record<Color, ClockFace> = { white: new ClockFace("white"), black: new ClockFace("black") };
  private readonly ending = new Ending();
  private readonly away = make("small", { class: "away" });
  private invitation: HTMLElement | null = null; // while the other of two people has not come
  private socket: GameSocket<PlayMessage>;
  private table: Table | null = null;
  private game: PlayGreeting["game"] | null = null;
  private helpChoice: HTMLElement | null = null;
  private message = ""; // an error, or advice: until something happens

  constructor(private readonly id: string) {
    this.socket = this.connect();
    document.addEventListener("keydown", this.key);
  }

  private connect(): GameSocket<PlayMessage> {
    this.element.classList.add("table");
    this.element.replaceChildren(make("p", { class: "loading" }, "Connecting…"));
    return new GameSocket<PlayMessage>(this.id, {
      message: (message) => this.receive(message),
      connected: (yes) => (this.lost.hidden = yes),
      refused: (reason) => this.refused(reason),
      invited: () => this.askIn(),
    });
  }

  /** Whoever has the link may take the free seat. */
  private askIn(): void {
    this.element.classList.remove("table");
    this.element.replaceChildren(invitation(this.id, () => (this.socket = this.connect())));
  }

  destroy(): void {
    this.socket.close();
    this.table?.destroy();
    this.thinking.stop();
    for (const clock of Object.values(this.clocks)) clock.stop();
    document.removeEventListener("keydown", this.key);
  }

  // -- messages

  private receive(message: PlayMessage): void {
    switch (message.type) {
      case "game":
        this.begin(message);
        break;
      case "update":
        this.update(message.event, message.state);
        break;
      case "assistance":
        if (this.table) this.table.assistance = message;
        this.table?.draw();
        this.draw();
        break;
      case "hint":
        if (this.table?.state.step !== message.step) break;
        this.table.advised = message.kind === "sense" ? { sense: message.square } : { move: message.move };
        this.message = hintWords(message);
        say(this.message);
        this.table.draw();
        this.draw();
        break;
      case "error":
        this.message = message.message;
        alertUser(message.message);
        this.table?.refused();
        break;
    }
  }

  private begin(greeting: PlayGreeting): void {
    if (greeting.protocol !== PROTOCOL) {
      this.refused("the server has been updated; load the page again");
      return;
    }
    this.game = greeting.game;
    if (!this.table) this.build(greeting.game);
    this.table!.help = greeting.assisted ? settings().style : "none";
    for (const one of this.helpChoice!.children)
      one.setAttribute("aria-pressed", String((one as HTMLElement).dataset["value"] === this.table!.help));
    if (greeting.assisted) this.socket.send({ type: "assist", on: true });
    const { color } = greeting.game;
    if (greeting.state.phase === "over") forgetGame(this.id);
    else rememberGame(this.id, sideName(greeting.game[opponent(color)]), color);
    this.show(greeting.state, () => this.table!.begin(greeting.events, greeting.state));
  }

  private update(event: GameEvent | null, state: PlayState): void {
    if (!this.table) return;
    this.message = "";
    let words = "";
    if (event) {
      words = this.table.learn(event);
      say(words);
      this.sound(event);
    }
    const before = this.table.state.phase;
    this.show(state, () => this.table!.setState(state));
    if (before !== state.phase) say(`${words} ${SPOKEN[state.phase]}`);
    if (before !== "over" && state.result) {
      const won = state.result.winner === this.game!.color;
      play(won ? "won" : "over");
    }
  }

  private show(state: PlayState, change: () => void): void {
    for (const clock of Object.values(this.clocks)) clock.show(state.clocks);
    this.unkept.hidden = state.kept;
    this.thinking.show(state.phase === "waiting" && !this.friend, this.game!.thinks);
    this.away.textContent = state.here === false && !/invited|over/.test(state.phase) ? "away" : "";
    this.ending.offered(state.rematch ?? false);
    setTurn(state.phase === "sense" || state.phase === "move");
    change();
    if (state.phase === "over" && state.result && !this.table!.truth)
      void this.ending.show(this.game!, state.result, this.table!);
  }

  private sound(event: GameEvent): void {
    if (event.type === "turn") play(event.capture ? "lost" : "turn");
    else if (event.type === "moved") play(event.capture ? "capture" : "move");
  }

  private refused(reason: string): void {
    forgetGame(this.id);
    this.element.classList.remove("table");
    this.element.replaceChildren(
      make(
        "div",
        { class: "card narrow" },
        make("h1", {}, "This game cannot be played here"),
        make("p", {}, `The server says: ${reason}.`),
        make("a", { href: "#/play" }, "Start a new game"),
      ),
    );
  }

  // -- building

  private build(game: PlayGreeting["game"]): void {
    const { color } = game;
    const bar = (side: Color, place: string, name: string) =>
      make(
        "div",
        { class: `player-bar ${place}` },
        make("span", { class: `disc ${side}` }),
        make("strong", {}, name),
        this.clocks[side].element,
      );
    const holder = make("div", { class: "board-column" });
    const sound = button("", () => showSound(toggleSounds()), "quiet");
    const showSound = (on: boolean) => {
      sound.textContent = on ? "Sound on" : "Sound off";
      sound.setAttribute("aria-pressed", String(on));
    };
    showSound(settings().sound);
    this.invitation = this.friend ? linkToShare(this.id) : null;
    const them = bar(opponent(color), "them", this.friend ? "Your friend" : game[opponent(color)].name);
    them.append(this.thinking.element, this.away);
    this.element.replaceChildren(
      them,
      holder,
      bar(color, "you", "You"),
      make(
        "div",
        { class: "side" },
        this.banner,
        this.invitation,
        this.notices,
        make("div", { class: "choices" }, this.nothing, this.pass),
        this.ending.element,
        make(
          "div",
          { class: "tools", role: "group", "aria-label": "Game" },
          this.hint,
          button("◀", () => this.table?.step(-1), "quiet", "One step back"),
          button("▶", () => this.table?.step(1), "quiet", "One step forward"),
          button("Turn", () => this.table?.flip(), "quiet", "Turn the board"),
          sound,
          button("Rules", showRules, "quiet"),
          this.resign,
        ),
        this.turns.element,
        this.aids(),
        make(
          "nav",
          { class: "pages", "aria-label": "Elsewhere" },
          ...["play", "games", "review"].map((name) => make("a", { href: `#/${name}` }, name)),
        ),
      ),
      make("div", { class: "toasts" }, this.lost, this.unkept),
    );
    this.table = new Table(
      holder,
      color,
      piecesOfFen(START),
      { act: (action) => this.act(action), changed: () => this.draw() },
      { id: this.id, mayQueue: true },
    );
    this.element.querySelector(".notes-place")!.append(this.table.notes!.element);
  }

  private aids(): HTMLElement {
    this.helpChoice = choice<Help>(
      "Assistance",
      [
        ["none", "None"],
        ["heat", "Heat"],
        ["ghosts", "Ghosts"],
      ],
      "none",
      (value) => this.assist(value),
    );
    const ages = make("input", { type: "checkbox", checked: settings().ages });
    ages.addEventListener("change", () => {
      remember({ ages: ages.checked });
      this.table?.draw();
    });
    const drawer = make(
      "details",
      { class: "aids", open: settings().aids },
      make("summary", {}, "Aids"),
      !this.friend && labelled("What your observations allow", this.helpChoice),
      this.states,
      labelled("Your notes", make("div", { class: "notes-place" })),
      make("label", { class: "check" }, ages, "Show how many turns ago a piece was seen"),
      this.assisted,
    );
    drawer.addEventListener("toggle", () => remember({ aids: drawer.open }));
    return drawer;
  }

  // -- what the player does

  private act(action: object): boolean {
    this.message = "";
    return this.socket.send({ ...action, step: this.table!.state.step });
  }

  private giveUp(): void {
    if (this.resign.dataset["sure"]) this.socket.send({ type: "resign" });
    else {
      this.resign.dataset["sure"] = "yes";
      this.resign.textContent = "Really resign?";
      setTimeout(() => {
        delete this.resign.dataset["sure"];
        this.resign.textContent = "Resign";
      }, 4000);
    }
  }

  /** Whether a person plays the other side; then there are no aids. */
  private get friend(): boolean {
    return this.game !== null && this.game[opponent(this.game.color)].player === null;
  }

  private askHint(): void {
    if (this.friend || (!this.table?.canSense && !this.table?.canMove)) return;
    this.message = "Penumbra is looking for a hint…";
    this.socket.send({ type: "hint", step: this.table.state.step });
    this.draw();
  }

  private assist(help: Help): void {
    const table = this.table!;
    table.help = help;
    table.assistance = null;
    if (help !== "none") remember({ style: help });
    this.socket.send({ type: "assist", on: help !== "none" });
    table.draw();
    this.draw();
  }

  private readonly key = (event: KeyboardEvent): void => {
    if (/^(INPUT|SELECT)$/.test((event.target as HTMLElement).tagName) || document.querySelector("dialog[open]"))
      return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const { table } = this;
    if (!table) return;
    if (event.key === "p") table.pass();
    else if (event.key === "n") table.senseNothing();
    else if (event.key === "h") this.askHint();
    else if (event.key === "f") table.flip();
    else if (event.key === ",") table.step(-1);
    else if (event.key === ".") table.step(1);
    else if (event.key === "Escape" && table.past !== null) table.look(null);
  };

  // -- drawing

  private draw(): void {
    const { table } = this;
    if (!table) return;
    const { phase } = table.state;
    this.element.dataset["phase"] = phase;
    this.banner.textContent = this.instruction(table);
    this.banner.className = `banner ${table.past === null ? phase : "past"}`;
    offer(this.nothing, table.canSense && table.canSkip);
    offer(this.pass, table.canMove && table.canSkip);
    offer(this.hint, table.canSense || table.canMove);
    for (const only of [this.nothing.parentElement!, this.hint, this.resign])
      only.hidden = phase === "over" || phase === "invited";
    this.hint.hidden ||= this.friend;
    if (this.invitation) this.invitation.hidden = phase !== "invited";
    this.notices.replaceChildren(...this.lines(table).map((words) => make("li", {}, words)));
    this.states.textContent = statesText(table);
    this.assisted.textContent = this.game?.aids.length || table.help !== "none" ? "This game counts as assisted." : "";
    this.turns.show(table.knowledge.turns, table.past === null ? null : table.shown.turn);
  }

  private lines(table: Table): string[] {
    return [
      ...(this.message ? [this.message] : []),
      ...(table.note ? [table.note] : []),
      ...[...table.notices].reverse(),
    ];
  }

  private instruction(table: Table): string {
    const { state } = table;
    if (table.past !== null) return `Turn ${table.shown.turn}, as you knew it then. Escape goes back.`;
    if (state.phase === "over" && state.result) return resultFor(this.game!.color, state.result);
    if (state.phase === "invited") return "Waiting for your friend";
    if (state.phase === "waiting")
      return table.queue.empty
        ? `Your ${this.friend ? "friend" : "opponent"} is thinking…`
        : `Planned: ${table.queue.words}. Escape clears it.`;
    if (table.sent) return "…";
    if (table.notes?.active) return "Notes: choose a square. Turn notes off to go on.";
    if (state.phase === "sense")
      return table.tapped ? `Tap ${table.tapped} again to sense there` : "Sense: choose the middle of a 3×3 window";
    return table.selected ? "Move: choose where to" : "Move: choose a piece, or pass";
  }
}

/** An element that can be pressed, or cannot now; it keeps the focus meanwhile. */
function offer(element: HTMLElement, yes: boolean): void {
  element.setAttribute("aria-disabled", String(!yes));
}

function button(text: string, act: () => void, kind = "", label?: string): HTMLButtonElement {
  const press = (event: Event): void => {
    if ((event.currentTarget as HTMLElement).getAttribute("aria-disabled") !== "true") act();
  };
  return make(
    "button",
    { type: "button", class: kind || null, "aria-label": label, title: label, onclick: press },
    text,
  );
}

function statesText(table: Table): string {
  if (table.help === "none") return "";
  if (!table.assistance) return "Counting…";
  const { states, complete } = table.assistance;
  if (states === null) return "Too many positions to follow.";
  return complete ? `${count(states, "position")} possible` : `More than ${count(states, "position")} possible`;
}
