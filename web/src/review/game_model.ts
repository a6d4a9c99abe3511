// A game under review. Position i is the moment before step i: step i - 1 is the last that happened, step i the next.

import type { Analysis, ReviewHeader, StateSet, Step } from "../protocol";
import { type Color, type Pieces, type Square, kindName, opponent, piecesOfFen } from "../squares";
import { moveText } from "../words";

export type Sets = Record<Color, StateSet | null>;

const SURPRISE = 5; // bits: one state in 32 agreed
const BLUNDER = 0.15; // of the chance to win

export type Landmark = "capture" | "surprise" | "blunder";

export class GameModel {
  readonly steps: Step[] = [];
  readonly sets: Sets[] = [{ white: null, black: null }]; // at each position
  private readonly boards: Pieces[] = []; // at each position, once it was looked at
  readonly analyses = new Map<number, Analysis>(); // of the decision at each position

  constructor(readonly header: Omit<ReviewHeader, "steps">) {}

  add(step: Step): void {
    this.steps.push(step);
    this.sets.push({ ...this.sets.at(-1)!, ...step.sets });
  }

  /** The last position. */
  get end(): number {
    return this.steps.length;
  }

  fen(position: number): string {
    return position === 0 ? this.header.start : this.steps[position - 1]!.fen;
  }

  pieces(position: number): Pieces {
    return (this.boards[position] ??= piecesOfFen(this.fen(position)));
  }

  /** Who acts at a position; after the end, who would. */
  actor(position: number): Color {
    const step = this.steps[position];
    if (step) return step.color;
    const last = this.steps.at(-1);
    return !last ? "white" : last.type === "sensed" ? last.color : opponent(last.color);
  }

  /** Which turn of its player a step belongs to, counted from 1, and the kind of step, as analyses name them. */
  decision(position: number): { turn: number; player: Color; step: "sense" | "move" } | null {
    const step = this.steps[position];
    if (!step) return null;
    return { turn: Math.floor(position / 4) + 1, player: step.color, step: step.type === "sensed" ? "sense" : "move" };
  }

  addAnalysis(analysis: Analysis): number {
    const first = this.steps[0]?.color ?? "white";
    const ply = 2 * (analysis.turn - 1) + (analysis.player === first ? 0 : 1);
    const position = 2 * ply + (analysis.step === "move" ? 1 : 0);
    this.analyses.set(position, analysis);
    return position;
  }

  /** White's chance to win at a position, where an analysis says so. */
  value(position: number): number | null {
    const thought = this.analyses.get(position) ?? this.steps[position]?.thought;
    const color = this.steps[position]?.color;
    if (!color || thought?.value === undefined || thought.value === null) return null;
    return color === "white" ? thought.value : 1 - thought.value;
  }

  landmarks(kind: Landmark): number[] {
    const found: number[] = [];
    this.steps.forEach((step, i) => {
      if (kind === "capture" && step.type === "moved" && step.capture) found.push(i + 1);
      if (kind === "surprise" && (step.sets[step.color]?.bits ?? 0) >= SURPRISE) found.push(i + 1);
      if (kind === "blunder" && step.type === "moved" && this.loss(i) >= BLUNDER) found.push(i);
    });
    return found;
  }

  /** How much of its chance to win a player lost from its decision at a position to its next one. */
  private loss(position: number): number {
    const before = this.analyses.get(position)?.value;
    const after = this.analyses.get(position + 3)?.value;
    return before == null || after == null ? 0 : before - after;
  }
}

export function stepText(step: Step): string {
  return step.type === "sensed" ? `◎ ${step.square ?? "none"}` : moveText(step.requested, step.taken, step.capture);
}

/** A step as a sentence about its player; `before` is the board before it. */
export function stepSentence(step: Step, before: Pieces): string {
  const who = step.color === "white" ? "White" : "Black";
  if (step.type === "sensed") return step.square ? `${who} sensed around ${step.square}.` : `${who} sensed nothing.`;
  if (!step.requested) return `${who} passed.`;
  const [from, to] = [step.requested.slice(0, 2), step.requested.slice(2, 4)];
  const kind = kindName(before[from] ?? "");
  if (!step.taken) return `${who}'s ${kind} on ${from} could not move to ${to}.`;
  const end = step.taken.slice(2, 4);
  const what = step.capture ? `captured ${aPiece(before, step.capture)} on ${step.capture}` : `moved to ${end}`;
  const stopped = end === to ? "" : `, stopped on its way to ${to}`;
  return `${who}'s ${kind} on ${from} ${what}${stopped}.`;
}

const aPiece = (pieces: Pieces, square: Square): string => `a ${kindName(pieces[square] ?? "")}`;
