// The board of a game as its player knows it: choosing senses and moves by mouse, touch and keys, planning the next
// turn, looking back. Games against programs and lessons are played on it alike.

import { say } from "../announce";
import { Board } from "../board/board";
import { type Belief, NO_BELIEF } from "../board/layers";
import { beliefOf } from "../board/shares";
import type { Assistance, GameEvent, PlayState } from "../protocol";
import { settings } from "../settings";
import { type Color, type Pieces, type Square, colorOf, opponent, pieceName, pieceOf, senseWindow } from "../squares";
import { count, percent } from "../words";
import { HASTE_MS, Haste } from "./haste";
import { Knowledge } from "./knowledge";
import { Notes } from "./notes";
import { choosePromotion } from "./promotion";
import { Queue } from "./queue";

export type Action = { type: "sense"; square: Square | null } | { type: "move"; move: string | null };
export type Help = "none" | "heat" | "ghosts";

export interface TableEvents {
  /** The player wants this; whether it could be sent. */
  act(action: Action): boolean;
  /** What stands beside the board may have changed. */
  changed(): void;
}

const WAITING: PlayState = { phase: "waiting", clocks: null, kept: true };

export class Table {
  readonly board: Board;
  readonly notes: Notes | null;
  readonly queue = new Queue();
  state = WAITING;
  knowledge: Knowledge;
  help: Help = "none";
  assistance: Assistance | null = null;
  sent = false; // an action whose answer has not come
  selected: Square | null = null;
  tapped: Square | null = null; // by touch: a second tap senses
  truth: Pieces | null = null; // once the game is over
  marked: { last?: Square[]; capture?: Square[] } | null = null; // on the true board
  advised: { sense?: Square | null; move?: string | null } | null = null; // a hint
  past: number | null = null; // events that are shown, while the player looks back
  note = ""; // about the queue
  private events: GameEvent[] = [];
  private back: Knowledge | null = null;
  private pointed: Square | null = null;
  private dialog: AbortController | null = null; // of a promotion
  private armed = 0;
  private destroyed = false;
  private readonly haste = new Haste();

  constructor(
    host: HTMLElement,
    readonly color: Color,
    private readonly start: Pieces,
    private readonly page: TableEvents,
    private readonly options: { id?: string; mayQueue?: boolean; seen?: number } = {},
  ) {
    this.knowledge = new Knowledge(color, start, options.seen);
    this.board = new Board(host, "Board", color, {
      choose: (square, by) => this.choose(square, by),
      point: (square) => {
        this.pointed = square;
        this.drawLight();
      },
      canDrag: (square) => this.canDrag(square),
      pieceOn: (square) => this.knowledge.own[square] ?? this.notes?.at(square),
      drag: (square) => this.drag(square),
      drop: (from, to) => this.drop(from, to),
      cancel: () => this.cancel(),
      describe: (square) => this.describe(square),
    });
    this.notes = options.id ? new Notes(options.id, color, () => this.changed()) : null;
  }

  destroy(): void {
    this.destroyed = true;
    window.clearTimeout(this.armed);
    this.dialog?.abort();
    this.board.destroy();
  }

  // -- what the player is told

  /** Everything so far, once more. */
  begin(events: GameEvent[], state: PlayState): void {
    this.knowledge = new Knowledge(this.color, this.start, this.options.seen);
    this.events = [];
    for (const event of events) this.take(event);
    this.past = null;
    this.setState(state);
  }

  /** One event; what it says in words. */
  learn(event: GameEvent): string {
    if (event.type === "turn") {
      this.past = null;
      if (event.capture && !this.queue.empty) {
        this.queue.clear();
        this.note = "You lost a piece, so your plan for this turn is dropped.";
      } else this.note = "";
    }
    return this.take(event);
  }

  setState(state: PlayState): void {
    const before = this.state;
    this.state = state;
    this.sent = false;
    if (before.phase !== state.phase || before.step !== state.step) {
      this.selected = this.tapped = this.advised = null;
      this.dialog?.abort();
      this.arm();
    }
    if (state.phase === "over") this.queue.clear();
    this.changed();
    this.followQueue();
  }

  /** It was refused. */
  refused(): void {
    this.sent = false;
    this.changed();
  }

  /** What happened since the player's last move, in words. */
  get notices(): string[] {
    return this.knowledge.news;
  }

  private take(event: GameEvent): string {
    this.events.push(event);
    return this.knowledge.learn(event);
  }

  // -- what the player does

  get canSense(): boolean {
    return this.state.phase === "sense" && !this.sent && this.past === null;
  }

  get canMove(): boolean {
    return this.state.phase === "move" && !this.sent && this.past === null;
  }

  /** Whether "Sense nothing" and "Pass" count: not just after something else was done. */
  get canSkip(): boolean {
    return (this.canSense || this.canMove) && this.haste.settled;
  }

  private get canQueue(): boolean {
    return (
      this.state.phase === "waiting" && this.past === null && (this.options.mayQueue ?? false) && this.haste.settled
    );
  }

  targets(from: Square): Square[] {
    const moves = (this.state.moves ?? []).filter((move) => move.startsWith(from));
    return [...new Set(moves.map((move) => move.slice(2, 4)))];
  }

  senseNothing(): void {
    if (this.canSkip && this.canSense) this.act({ type: "sense", square: null }, "sense nothing");
  }

  pass(): void {
    if (this.canSkip && this.canMove) this.act({ type: "move", move: null }, "pass");
  }

  clearQueue(): void {
    this.queue.clear();
    this.selected = null;
    this.changed();
  }

  private choose(square: Square, by: "mouse" | "touch" | "key"): void {
    if (this.haste.repeats(square)) return;
    if (this.notes?.active) say(this.notes.put(square));
    else if (this.canSense) {
      if (by === "touch" && this.tapped !== square) {
        this.tapped = this.pointed = square;
        this.changed();
      } else this.act({ type: "sense", square }, square);
    } else if (this.canMove) {
      if (this.selected && this.targets(this.selected).includes(square)) void this.tryMove(this.selected, square);
      else this.pick(this.targets(square).length && square !== this.selected ? square : null);
    } else if (this.canQueue) this.plan(square);
  }

  /** The first choice plans a sense, the next two a move. */
  private plan(square: Square): void {
    if (this.selected && square !== this.selected) this.planMove(this.selected, square);
    else if (this.queue.sense === null) this.queue.sense = square;
    else this.selected = this.knowledge.own[square] && square !== this.selected ? square : null;
    this.sayPlan();
  }

  private planMove(from: Square, to: Square): void {
    this.selected = null;
    if (!this.knowledge.own[to]) this.queue.move = [from, to];
    this.sayPlan();
  }

  private sayPlan(): void {
    if (this.queue.words) say(`Planned: ${this.queue.words}`);
    this.changed();
  }

  /** Does what was planned, as soon as it is the time for it. */
  private followQueue(): void {
    const { sense, move } = this.queue;
    if (this.canSense && sense) {
      this.queue.sense = null;
      this.act({ type: "sense", square: sense }, "queue");
    } else if (this.canMove && move) {
      this.queue.clear();
      const fitting = (this.state.moves ?? []).filter((uci) => uci.startsWith(move.join("")));
      if (fitting.length)
        this.act({ type: "move", move: fitting.find((uci) => uci.endsWith("q")) ?? fitting[0]! }, "queue");
      else {
        this.note = `Your planned move ${move.join("–")} is no longer possible.`;
        this.changed();
      }
    }
  }

  private canDrag(square: Square): boolean {
    if (this.notes?.active) return this.notes.at(square) !== undefined;
    if (this.canMove) return this.targets(square).length > 0 || this.notes?.at(square) !== undefined;
    const planning = this.state.phase === "waiting" && this.options.mayQueue && this.past === null;
    return (planning && this.knowledge.own[square] !== undefined) || this.notes?.at(square) !== undefined;
  }

  private drag(square: Square): void {
    if (this.knowledge.own[square]) this.pick(square);
  }

  private drop(from: Square, to: Square | null): void {
    if (!this.knowledge.own[from]) this.notes?.moveTo(from, to);
    else if (!to || to === from) this.pick(null);
    else if (this.state.phase === "waiting") this.planMove(from, to);
    else void this.tryMove(from, to);
  }

  private cancel(): void {
    if (this.past !== null) this.look(null);
    else if (this.state.phase === "waiting") this.clearQueue();
    else this.pick(null);
  }

  private pick(square: Square | null): void {
    this.selected = square;
    if (square && this.canMove) say(`${square}: ${count(this.targets(square).length, "square")} to move to`);
    this.changed();
  }

  private async tryMove(from: Square, to: Square): Promise<void> {
    const moves = (this.state.moves ?? []).filter((move) => move.startsWith(from + to));
    this.selected = null;
    if (!moves.length || !this.canMove) this.changed();
    else if (moves.some((move) => move.length === 5)) {
      this.dialog = new AbortController();
      const piece = await choosePromotion(this.color, this.dialog.signal);
      if (piece && this.canMove) this.act({ type: "move", move: from + to + piece }, to);
      this.board.focus(to);
    } else this.act({ type: "move", move: moves[0]! }, to);
  }

  private act(action: Action, where: string): void {
    this.haste.did(where);
    this.sent = this.page.act(action);
    this.arm();
    this.changed();
  }

  /** When haste is over, what it held back is offered. */
  private arm(): void {
    window.clearTimeout(this.armed);
    this.armed = window.setTimeout(() => this.changed(), HASTE_MS + 20);
  }

  // -- looking back

  /** The position of so many events ago: `by` -1 is one back, 1 one forward. */
  step(by: number): void {
    this.look((this.past ?? this.events.length) + by);
  }

  /** As things stood after the player's own move of a turn. */
  lookAtTurn(turn: number): void {
    let seen = 0;
    const end = this.events.findIndex((event) => event.type === "turn" && seen++ === turn);
    this.look(end < 0 ? null : end);
  }

  look(events: number | null): void {
    this.past = events === null || events >= this.events.length || events < 1 ? (events === 0 ? 1 : null) : events;
    this.back = null;
    if (this.past !== null) {
      this.back = new Knowledge(this.color, this.start, this.options.seen);
      for (const event of this.events.slice(0, this.past)) this.back.learn(event);
    }
    this.selected = null;
    this.changed();
  }

  /** What is shown: what the player knows, or knew then. */
  get shown(): Knowledge {
    return this.back && this.past !== null ? this.back : this.knowledge;
  }

  // -- drawing

  flip(): void {
    this.board.flip();
    this.changed();
  }

  private changed(): void {
    this.draw();
    this.page.changed();
  }

  draw(): void {
    if (this.destroyed) return; // as when the end of a game is still being replayed
    const { board, shown } = this;
    const truth = this.past === null ? this.truth : null;
    board.setPieces(truth ?? shown.own, true);
    board.setBelief(truth ? NO_BELIEF : this.belief(shown));
    this.drawLight();
    this.drawArrows();
    board.describe();
  }

  private belief(knowledge: Knowledge): Belief {
    const { ages } = settings();
    const notes = this.notes?.ghosts() ?? [];
    const pieces = this.past === null ? this.assistance?.pieces : undefined;
    if (this.help === "none" || !pieces) return { heat: {}, ghosts: [...knowledge.ghosts(ages), ...notes] };
    const { heat, ghosts } = beliefOf(pieces, opponent(this.color), this.help);
    const seen = this.help === "heat" ? knowledge.ghosts(false) : [];
    return { heat, ghosts: [...ghosts, ...seen, ...notes] };
  }

  private drawLight(): void {
    const { board, shown, state } = this;
    if (this.truth && this.past === null) {
      board.setLight({ marks: this.marked ?? {} });
      return;
    }
    const preview = this.preview;
    const sensed = preview ?? shown.lastSense;
    board.setLight({
      fog: this.help !== "none" && this.past === null ? {} : shown.fog(),
      window: sensed && state.phase !== "over" ? senseWindow(sensed) : [],
      windowKind: preview ? "preview" : "sensed",
      marks: {
        last: shown.lastMove ?? [],
        capture: shown.lost ? [shown.lost] : [],
        selected: this.selected ? [this.selected] : [],
        target: this.selected ? this.targets(this.selected) : [],
      },
    });
  }

  /** Around which square a sense is about to be made, planned or advised. */
  private get preview(): Square | null {
    if (this.past !== null || this.notes?.active) return null;
    if (this.state.phase === "waiting") return this.queue.sense;
    if (!this.canSense) return null;
    return this.tapped ?? this.pointed ?? this.advised?.sense ?? null;
  }

  private drawArrows(): void {
    const planned = this.queue.move;
    const advised = this.canMove ? this.advised?.move : null;
    const [from, to] = planned ?? [advised?.slice(0, 2), advised?.slice(2, 4)];
    const shown = from && to && this.past === null;
    this.board.setArrows(shown ? [{ from, to, strength: 0.7, kind: planned ? "played" : "policy" }] : []);
  }

  private describe(square: Square): string {
    const knowledge = this.shown;
    const truth = this.past === null ? this.truth : null;
    const own = (truth ?? knowledge.own)[square];
    const note = this.notes?.at(square);
    const noted = note ? `; your note: ${pieceName(note)}` : "";
    if (own) return pieceName(own) + noted;
    if (truth) return "empty";
    const shares = this.help !== "none" && this.past === null ? this.assistance?.pieces[square] : undefined;
    if (shares) {
      const kinds = Object.entries(shares).map(
        ([kind, share]) => `${pieceName(pieceOf(kind, opponent(this.color)))} ${percent(share)}`,
      );
      return kinds.join(", ") + noted;
    }
    const age = knowledge.age(square);
    const when = age === 0 ? "seen now" : age > knowledge.turn + 1 ? "never seen" : `seen ${count(age, "turn")} ago`;
    return `${sightName(knowledge.sights.get(square)?.piece ?? null, this.color)}, ${when}${noted}`;
  }
}

/** What was last seen on a square; an own piece that stood there is gone since. */
function sightName(piece: string | null, color: Color): string {
  if (piece === "?") return "an unknown piece";
  return piece === null || colorOf(piece) === color ? "empty" : pieceName(piece);
}
