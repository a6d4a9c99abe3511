// The truth and both players' views of one position, side by side.

import { Board } from "../board/board";
import { type Arrow, type Belief, NO_BELIEF } from "../board/layers";
import { type Style, beliefOf } from "../board/shares";
import { choice, make } from "../elements";
import type { Analysis, Shares, Step, Thought } from "../protocol";
import { type Color, type Square, opponent, pieceName, pieceOf, piecesOfColor, senseWindow } from "../squares";
import { count, percent } from "../words";
import type { GameModel } from "./game_model";

type View = "truth" | Color;
export type Shown = View | "all";
export type Overlay = "policy" | "belief" | "knowledge";

const VIEWS: View[] = ["truth", "white", "black"];
const TITLES: Record<View, string> = { truth: "Truth", white: "White's view", black: "Black's view" };
const NARROW = "(max-width: 56rem)"; // where three boards have no room
const ARROWS = 5;
const SETTLED = 120; // milliseconds after which cells are described anew: not while a scrubber is moved

export class Boards {
  readonly element = make("div", { class: "boards" });
  overlay: Overlay = "policy";
  private style: Style = "ghosts";
  private readonly boards = new Map<View, Board>();
  private readonly captions = new Map<View, HTMLElement>();
  private describing = 0;
  private shown: { game: GameModel; position: number; animated: boolean } | null = null;

  /** `shown` is the view to begin with; `flipped` has Black at the bottom; `viewed` hears of another view. */
  constructor(
    shown: Shown,
    private flipped = false,
    viewed: (view: Shown) => void = () => undefined,
  ) {
    const first = shown === "all" && matchMedia(NARROW).matches ? "truth" : shown;
    const pickView = choice<Shown>(
      "Board shown",
      [...VIEWS.map((view): [Shown, string] => [view, TITLES[view]]), ["all", "All three"]],
      first,
      (view) => {
        this.element.dataset["view"] = view;
        viewed(view);
      },
    );
    pickView.classList.add("view-choice");
    this.element.dataset["view"] = first;
    this.element.append(pickView);
    for (const view of VIEWS) {
      const caption = make("small", { class: "states" });
      const frame = make(
        "figure",
        { class: `view ${view}` },
        make("figcaption", {}, make("strong", {}, TITLES[view]), caption),
      );
      this.captions.set(view, caption);
      this.element.append(frame);
    }
    this.makeBoards();
  }

  /** Buttons that change how the boards look. */
  controls(): HTMLElement {
    const style = choice<Style>(
      "What players hold possible",
      [
        ["ghosts", "Ghosts"],
        ["heat", "Heat"],
      ],
      "ghosts",
      (value) => {
        this.style = value;
        this.redraw();
      },
    );
    const flip = make("button", { type: "button", onclick: () => this.flip() }, "Turn the boards");
    return make("div", { class: "actions" }, style, flip);
  }

  show(game: GameModel, position: number, animated = false): void {
    this.shown = { game, position, animated };
    const last = game.steps[position - 1];
    const pieces = game.pieces(position);
    for (const view of VIEWS) {
      const board = this.boards.get(view)!;
      const own = view === "truth" ? pieces : piecesOfColor(pieces, view);
      const seen = view === "truth" || last?.color === view ? last : undefined;
      board.setPieces(own, animated);
      board.setLight({ window: sensedWindow(seen), marks: marks(seen) });
      const { belief, arrows } = this.content(game, position, view);
      board.setBelief(belief);
      board.setArrows(arrows);
      this.captions.get(view)!.textContent = view === "truth" ? "" : statesText(game, position, view);
    }
    window.clearTimeout(this.describing);
    this.describing = window.setTimeout(() => this.boards.forEach((board) => board.describe()), SETTLED);
  }

  redraw(): void {
    if (this.shown) this.show(this.shown.game, this.shown.position);
  }

  get truth(): Board {
    return this.boards.get("truth")!;
  }

  destroy(): void {
    window.clearTimeout(this.describing);
    for (const board of this.boards.values()) board.destroy();
  }

  private flip(): void {
    this.flipped = !this.flipped;
    this.destroy();
    this.makeBoards();
    this.redraw();
  }

  private makeBoards(): void {
    for (const view of VIEWS) {
      const frame = this.element.querySelector<HTMLElement>(`.view.${view}`)!;
      const describe = (square: Square): string => this.describe(view, square);
      this.boards.set(view, new Board(frame, TITLES[view], this.flipped ? "black" : "white", { describe }));
    }
  }

  private content(game: GameModel, position: number, view: View): { belief: Belief; arrows: Arrow[] } {
    const thought: Analysis | Thought | undefined =
      game.analyses.get(position) ?? game.steps[position]?.thought ?? undefined;
    if (thought && game.actor(position) === view) return this.thoughtContent(game, position, view, thought);
    const belief = view === "truth" ? NO_BELIEF : this.possible(game, position, view);
    return { belief, arrows: view === "truth" ? better(game, position) : [] };
  }

  private possible(game: GameModel, position: number, color: Color): Belief {
    const pieces = game.sets[position]![color]?.pieces;
    return pieces ? inStyle(pieces, opponent(color), this.style) : NO_BELIEF;
  }

  private thoughtContent(game: GameModel, position: number, color: Color, thought: Analysis | Thought) {
    if (this.overlay === "belief") return { belief: inStyle(thought.belief, opponent(color), this.style), arrows: [] };
    if (this.overlay === "knowledge") {
      const knowledge = "knowledge" in thought ? (thought.knowledge ?? {}) : {};
      return { belief: inStyle(knowledge, color, "heat"), arrows: [] };
    }
    const possible = this.possible(game, position, color);
    const heat: Record<Square, number> = {};
    const arrows: Arrow[] = [];
    const most = Math.max(...thought.actions.map(weight), 1e-9);
    for (const action of thought.actions) {
      const strength = weight(action) / most;
      if (action.action.startsWith("sense ")) heat[action.action.slice(6)] = strength;
      else if (action.action !== "pass" && arrows.length < ARROWS && strength > 0.02) {
        arrows.push({ from: action.action.slice(0, 2), to: action.action.slice(2, 4), strength, kind: "policy" });
      }
    }
    return { belief: { heat, ghosts: possible.ghosts }, arrows };
  }

  private describe(view: View, square: Square): string {
    if (!this.shown) return "";
    const { game, position } = this.shown;
    const piece = game.pieces(position)[square];
    if (view === "truth") return piece ? pieceName(piece) : "empty";
    if (piece && piecesOfColor({ [square]: piece }, view)[square]) return pieceName(piece);
    const kinds = game.sets[position]![view]?.pieces[square];
    if (!kinds) return "empty";
    return Object.entries(kinds)
      .map(([kind, share]) => `${pieceName(pieceOf(kind, opponent(view)))} ${percent(share)}`)
      .join(", ");
  }
}

/** The move that would have been better than the last, where a verdict says so. */
function better(game: GameModel, position: number): Arrow[] {
  const move = game.verdict(position)?.better;
  return !move || move === "pass"
    ? []
    : [{ from: move.slice(0, 2), to: move.slice(2, 4), strength: 0.6, kind: "better" }];
}

/** Searches count visits; without a search there is only the policy. */
function weight(action: { visits: number | null; policy: number | null }): number {
  return action.visits || action.policy || 0;
}

const drawn = new WeakMap<Shares, Map<string, Belief>>();

/** The same shares give the same belief, which a board then need not draw again. */
function inStyle(pieces: Shares, color: Color, style: Style): Belief {
  const known = drawn.get(pieces) ?? new Map<string, Belief>();
  drawn.set(pieces, known);
  const key = `${color} ${style}`;
  const belief = known.get(key) ?? beliefOf(pieces, color, style);
  known.set(key, belief);
  return belief;
}

function sensedWindow(step: Step | undefined): Square[] {
  return step?.type === "sensed" && step.square ? senseWindow(step.square) : [];
}

function marks(step: Step | undefined): { last?: Square[]; capture?: Square[] } {
  if (step?.type !== "moved") return {};
  const last = step.taken ? [step.taken.slice(0, 2), step.taken.slice(2, 4)] : [];
  return { last, capture: step.capture ? [step.capture] : [] };
}

function statesText(game: GameModel, position: number, color: Color): string {
  const set = game.sets[position]![color];
  if (!set) return "";
  return set.complete ? `${count(set.states, "position")} possible` : `more than ${count(set.states, "position")}`;
}
