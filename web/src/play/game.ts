// A game being played: the board as the player knows it, what to do now, and what happened.

import { alertUser, say } from "../announce";
import { Board } from "../board/board";
import type { Belief } from "../board/layers";
import { type Style, beliefOf } from "../board/shares";
import { ClockFace } from "../clock";
import { choice, labelled, make, warning } from "../elements";
import { type Page, go, isTyping } from "../page";
import type { Assistance, GameAbout, PlayGreeting, PlayMessage, PlayState } from "../protocol";
import { PROTOCOL } from "../protocol";
import { GameSocket, getText } from "../server";
import {
  type Color,
  type Pieces,
  type Square,
  colorOf,
  opponent,
  pieceName,
  piecesOfFen,
  pieceOf,
  senseWindow,
} from "../squares";
import { UNKEPT, count, percent, resultFor } from "../words";
import { Knowledge } from "./knowledge";
import { Notes } from "./notes";
import { forgetGame, rememberGame } from "./ongoing";
import { choosePromotion } from "./promotion";

const START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR";
const SPOKEN: Record<PlayState["phase"], string> = {
  sense: "Your turn: sense.",
  move: "Now move.",
  waiting: "",
  over: "The game is over.",
};
type Help = "none" | Style;

export function playGame(id: string): Page {
  return new PlayPage(id);
}

class PlayPage implements Page {
  readonly element = make("div", { class: "table" });
  private readonly banner = make("p", { class: "banner" });
  private readonly notices = make("p", { class: "notice" });
  private readonly lost = make("p", { class: "lost", role: "alert", hidden: true });
  private readonly unkept = warning(UNKEPT);
  private readonly moves = make("ol", { class: "moves", "aria-label": "Turns", tabindex: "0" });
  private readonly states = make("p", { class: "states" });
  private readonly pass = make("button", { type: "button", onclick: () => this.skip() }, "Pass");
  private readonly resign = make("button", { type: "button", class: "quiet", onclick: () => this.giveUp() }, "Resign");
  private readonly after = make("div", { class: "actions", hidden: true });
  private readonly clocks: Record<Color, ClockFace> = { white: new ClockFace("white"), black: new ClockFace("black") };
  private readonly socket: GameSocket<PlayMessage>;
  private board: Board | null = null;
  private notes: Notes | null = null;
  private color: Color = "white";
  private knowledge: Knowledge | null = null;
  private state: PlayState = { phase: "waiting", clocks: null, kept: true };
  private assistance: Assistance | null = null;
  private help: Help = "none";
  private ages = true;
  private pointed: Square | null = null;
  private selected: Square | null = null;
  private tapped: Square | null = null; // by touch: a second tap senses
  private sent = false; // an action whose answer has not come
  private truth: Pieces | null = null; // once the game is over

  constructor(private readonly id: string) {
    this.element.append(make("p", { class: "loading" }, "Connecting…"));
    this.socket = new GameSocket<PlayMessage>(id, {
      message: (message) => this.receive(message),
      connected: (yes) => this.connected(yes),
      refused: (reason) => this.refused(reason),
    });
    document.addEventListener("keydown", this.key);
  }

  destroy(): void {
    this.socket.close();
    this.board?.destroy();
    for (const clock of Object.values(this.clocks)) clock.stop();
    document.removeEventListener("keydown", this.key);
  }

  // -- messages

  private receive(message: PlayMessage): void {
    switch (message.type) {
      case "game":
        this.begin(message);
        break;
      case "update": {
        this.sent = false;
        if (message.event && this.knowledge) {
          const words = this.knowledge.learn(message.event);
          this.notices.textContent = words;
          say(words);
        }
        this.setState(message.state);
        break;
      }
      case "assistance":
        this.assistance = message;
        this.draw();
        break;
      case "error":
        this.sent = false;
        this.notices.textContent = message.message;
        alertUser(message.message);
        this.draw();
        break;
    }
  }

  private begin(greeting: PlayGreeting): void {
    if (greeting.protocol !== PROTOCOL) {
      this.refused("the server has been updated; load the page again");
      return;
    }
    const { game } = greeting;
    this.color = game.color;
    this.knowledge = new Knowledge(this.color, piecesOfFen(START));
    let words = "";
    for (const event of greeting.events) words = this.knowledge.learn(event);
    if (!this.board) this.build(game);
    this.notices.textContent = words;
    this.sent = false;
    if (this.help !== "none") this.socket.send({ type: "assist", on: true });
    if (greeting.state.phase === "over") forgetGame(this.id);
    else rememberGame(this.id, game[opponent(this.color)].name, this.color);
    this.setState(greeting.state);
  }

  private connected(yes: boolean): void {
    if (this.lost.hidden === yes) return;
    this.lost.hidden = yes;
    this.lost.textContent = "The connection to the server is lost. Trying to come back…";
    this.draw();
  }

  private refused(reason: string): void {
    forgetGame(this.id);
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

  private setState(state: PlayState): void {
    const before = this.state.phase;
    this.state = state;
    this.selected = this.tapped = null;
    for (const clock of Object.values(this.clocks)) clock.show(state.clocks);
    this.unkept.hidden = state.kept;
    if (state.phase === "over" && !this.truth) void this.reveal();
    this.draw();
    if (before !== state.phase) say(`${this.notices.textContent} ${SPOKEN[state.phase]}`);
  }

  // -- building

  private build(game: GameAbout): void {
    const them = opponent(this.color);
    const holder = make("div", { class: "board-column" });
    const bar = (color: Color, name: string) =>
      make(
        "div",
        { class: "player-bar" },
        make("span", { class: `disc ${color}` }),
        make("strong", {}, name),
        this.clocks[color].element,
      );
    holder.append(bar(them, game[them].name));
    this.board = new Board(holder, "Board", this.color, {
      choose: (square, by) => this.choose(square, by),
      point: (square) => {
        this.pointed = square;
        this.drawLight();
      },
      canDrag: (square) => this.canMove && !!this.targets(square).length,
      drag: (square) => this.pick(square),
      drop: (from, to) => (to && to !== from ? this.tryMove(from, to) : this.pick(null)),
      cancel: () => this.pick(null),
      describe: (square) => this.describe(square),
    });
    holder.append(bar(this.color, "You"));
    this.notes = new Notes(this.id, this.color, () => this.draw());
    const help = choice<Help>(
      "Assistance",
      [
        ["none", "None"],
        ["heat", "Heat"],
        ["ghosts", "Ghosts"],
      ],
      "none",
      (value) => this.assist(value),
    );
    const ages = make("input", { type: "checkbox", checked: true });
    ages.addEventListener("change", () => {
      this.ages = ages.checked;
      this.draw();
    });
    const side = make(
      "div",
      { class: "side" },
      this.banner,
      this.lost,
      this.unkept,
      this.notices,
      make("div", { class: "actions" }, this.pass, this.resign),
      this.after,
      make("h2", {}, "Turns"),
      this.moves,
      make(
        "details",
        { class: "aids", open: innerWidth > 900 },
        make("summary", {}, "Aids"),
        labelled("What your observations allow", help),
        this.states,
        labelled("Your notes", this.notes.element),
        make("label", { class: "check" }, ages, "Show how many turns ago a piece was seen"),
      ),
    );
    this.element.replaceChildren(holder, side);
  }

  // -- what the player does

  private get canMove(): boolean {
    return this.state.phase === "move" && !this.sent;
  }

  private targets(from: Square): Square[] {
    return [
      ...new Set((this.state.moves ?? []).filter((move) => move.startsWith(from)).map((move) => move.slice(2, 4))),
    ];
  }

  private choose(square: Square, by: "mouse" | "touch" | "key"): void {
    if (this.notes?.active) {
      say(this.notes.put(square));
    } else if (this.state.phase === "sense" && !this.sent) {
      if (by === "touch" && this.tapped !== square) {
        this.tapped = square;
        this.pointed = square;
        this.draw();
      } else this.act({ type: "sense", square });
    } else if (this.canMove) {
      if (this.selected && this.targets(this.selected).includes(square)) this.tryMove(this.selected, square);
      else this.pick(this.targets(square).length && square !== this.selected ? square : null);
    }
  }

  private pick(square: Square | null): void {
    this.selected = square;
    if (square) say(`${square}: ${count(this.targets(square).length, "square")} to move to`);
    this.draw();
  }

  private async tryMove(from: Square, to: Square): Promise<void> {
    const moves = (this.state.moves ?? []).filter((move) => move.startsWith(from + to));
    this.selected = null;
    if (!moves.length) {
      this.draw();
      return;
    }
    if (moves.some((move) => move.length === 5)) {
      const piece = await choosePromotion(this.color);
      if (piece && this.canMove) this.act({ type: "move", move: from + to + piece });
      this.board?.focus(to);
    } else this.act({ type: "move", move: moves[0]! });
  }

  private skip(): void {
    if (this.state.phase === "sense") this.act({ type: "sense", square: null });
    else if (this.canMove) this.act({ type: "move", move: null });
  }

  private act(action: object): void {
    this.sent = this.socket.send({ ...action, step: this.state.step });
    this.draw();
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

  private assist(help: Help): void {
    this.help = help;
    this.assistance = null;
    this.socket.send({ type: "assist", on: help !== "none" });
    this.draw();
  }

  private readonly key = (event: KeyboardEvent): void => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "p" && !this.pass.disabled) this.skip();
  };

  private async reveal(): Promise<void> {
    forgetGame(this.id);
    this.after.replaceChildren(
      make(
        "button",
        { type: "button", class: "primary", onclick: () => go(`#/review/game/${this.id}`) },
        "Review the game",
      ),
      make("button", { type: "button", onclick: () => go("#/play") }, "New game"),
    );
    this.after.hidden = false;
    const history = JSON.parse(await getText(`/api/games/${this.id}`)) as { fens_after_move: Record<string, string[]> };
    const fens = [history.fens_after_move["true"] ?? [], history.fens_after_move["false"] ?? []];
    const [white, black] = fens as [string[], string[]];
    const last = white.length > black.length ? white.at(-1) : black.at(-1);
    this.truth = piecesOfFen(last ?? START);
    this.draw();
  }

  // -- drawing

  private draw(): void {
    const { board, knowledge, state } = this;
    if (!board || !knowledge) return;
    this.element.dataset["phase"] = state.phase;
    board.setPieces(this.truth ?? knowledge.own, true);
    board.setBelief(this.truth ? { heat: {}, ghosts: [] } : this.belief(knowledge));
    this.drawLight();
    board.describe();
    this.banner.textContent = this.instruction();
    this.banner.className = `banner ${state.phase}`;
    this.pass.textContent = state.phase === "sense" ? "Sense nothing" : "Pass";
    this.pass.hidden = this.resign.hidden = state.phase === "over";
    this.pass.disabled = this.sent || !(state.phase === "sense" || state.phase === "move");
    this.states.textContent = this.statesText();
    this.drawMoves(knowledge);
  }

  private belief(knowledge: Knowledge): Belief {
    const notes = this.notes?.ghosts() ?? [];
    const pieces = this.assistance?.pieces;
    if (this.help === "none" || !pieces) return { heat: {}, ghosts: [...knowledge.ghosts(this.ages), ...notes] };
    const { heat, ghosts } = beliefOf(pieces, opponent(this.color), this.help);
    const seen = this.help === "heat" ? knowledge.ghosts(false) : [];
    return { heat, ghosts: [...ghosts, ...seen, ...notes] };
  }

  private drawLight(): void {
    const { board, knowledge, state } = this;
    if (!board || !knowledge) return;
    const preview = state.phase === "sense" && !this.sent && !this.notes?.active ? (this.tapped ?? this.pointed) : null;
    const sensed = preview ?? knowledge.lastSense;
    board.setLight({
      fog: this.truth || this.help !== "none" ? {} : knowledge.fog(),
      window: sensed && state.phase !== "over" ? senseWindow(sensed) : [],
      windowKind: preview ? "preview" : "sensed",
      marks: {
        last: knowledge.lastMove ?? [],
        capture: knowledge.lost ? [knowledge.lost] : [],
        selected: this.selected ? [this.selected] : [],
        target: this.selected ? this.targets(this.selected) : [],
      },
    });
  }

  private instruction(): string {
    const { state } = this;
    if (state.phase === "over" && state.result) return resultFor(this.color, state.result);
    if (state.phase === "waiting") return "Your opponent is thinking…";
    if (this.sent) return "…";
    if (this.notes?.active) return "Notes: choose a square. Turn notes off to go on.";
    if (state.phase === "sense")
      return this.tapped ? `Tap ${this.tapped} again to sense there` : "Sense: choose the middle of a 3×3 window";
    return this.selected ? "Move: choose where to" : "Move: choose a piece, or pass";
  }

  private statesText(): string {
    if (this.help === "none") return "";
    if (!this.assistance) return "Counting…";
    const { states, complete } = this.assistance;
    if (states === null) return "Too many positions to follow.";
    return complete ? `${count(states, "position")} possible` : `More than ${count(states, "position")} possible`;
  }

  private describe(square: Square): string {
    const knowledge = this.knowledge!;
    const own = (this.truth ?? knowledge.own)[square];
    const note = this.notes?.at(square);
    const noted = note ? `; your note: ${pieceName(note)}` : "";
    if (own) return pieceName(own) + noted;
    if (this.truth) return "empty";
    const shares = this.help !== "none" ? this.assistance?.pieces[square] : undefined;
    if (shares)
      return (
        Object.entries(shares)
          .map(([kind, share]) => `${pieceName(pieceOf(kind, opponent(this.color)))} ${percent(share)}`)
          .join(", ") + noted
      );
    const sight = knowledge.sights.get(square);
    const age = knowledge.age(square);
    const when = age === 0 ? "seen now" : `seen ${count(age, "turn")} ago`;
    return `${sightName(sight?.piece ?? null, this.color)}, ${when}${noted}`;
  }

  private drawMoves(knowledge: Knowledge): void {
    const items = knowledge.turns.map(({ number, sense, move, notices }) =>
      make(
        "li",
        {},
        make("span", { class: "number" }, `${number}.`),
        make("span", { class: "sensed", title: "sensed" }, sense ? `◎ ${sense}` : ""),
        make("span", { class: "moved" }, move),
        ...notices.map((words) => make("small", {}, words)),
      ),
    );
    if (
      this.moves.childElementCount !== items.length ||
      this.moves.lastElementChild?.textContent !== items.at(-1)?.textContent
    ) {
      this.moves.replaceChildren(...items);
      this.moves.scrollTop = this.moves.scrollHeight;
    }
  }
}

/** What was last seen on a square; an own piece that stood there is gone since. */
function sightName(piece: string | null, color: Color): string {
  if (piece === "?") return "an unknown piece";
  return piece === null || colorOf(piece) === color ? "empty" : pieceName(piece);
}
