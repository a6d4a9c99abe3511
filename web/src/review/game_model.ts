// A game under review. Position i is the moment before step i: step i - 1 is the last that happened, step i the next.

import type { Analysis, ReviewHeader, Shares, StateSet, Step, Verdict } from "../protocol";
import { type Color, type Pieces, type Square, kindName, opponent, piecesOfColor, piecesOfFen } from "../squares";
import { moveText, percent } from "../words";

export type Sets = Record<Color, StateSet | null>;

const SURPRISE = 5; // bits: one state in 32 agreed
const BLUNDER = 0.15; // of the chance to win

/** A move that cost its player something, at the position after it. */
export interface Mistake {
  position: number;
  color: Color;
  cost: number; // of the states, or of the chance to win
  text: string;
}

export type Landmark = "capture" | "surprise" | "blunder";

export class GameModel {
  readonly steps: Step[] = [];
  readonly sets: Sets[]; // at each position
  private readonly boards: Pieces[] = []; // at each position, once it was looked at
  readonly analyses = new Map<number, Analysis>(); // of the decision at each position

  constructor(readonly header: Omit<ReviewHeader, "steps">) {
    const start = piecesOfFen(header.start);
    this.sets = [{ white: whole(start, "white"), black: whole(start, "black") }];
  }

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
    });
    return kind === "blunder" ? this.blunders() : found;
  }

  /** The verdict on the move that led to a position. */
  verdict(position: number): Verdict | null {
    const step = this.steps[position - 1];
    return (step?.type === "moved" && step.verdict) || null;
  }

  /** What moves cost by the rules alone, and what they cost of the chance to win where that was analysed; worst first. */
  mistakes(): Mistake[] {
    const found: Mistake[] = [];
    this.steps.forEach((step, i) => {
      if (step.type !== "moved") return;
      const lost = this.loss(i);
      const analysed = lost >= BLUNDER ? this.lossText(i, lost) : "";
      const told = step.verdict && (step.verdict.cost > 0 || step.verdict.true) ? step.verdict : null;
      if (!told && !analysed) return;
      const text = [told?.text, analysed].filter(Boolean).join(" ");
      found.push({ position: i + 1, color: step.color, cost: Math.max(told?.cost ?? 0, analysed ? lost : 0), text });
    });
    return found.sort((a, b) => b.cost - a.cost);
  }

  /** Positions after moves that cost much, or that left the king to be taken in the game. */
  private blunders(): number[] {
    const grave = ({ position, cost }: Mistake) => cost >= BLUNDER || this.verdict(position)?.true;
    return this.mistakes()
      .filter(grave)
      .map(({ position }) => position)
      .sort((a, b) => a - b);
  }

  /** How much of its chance to win a player lost by its move at a position: by its next decision, or by the end. */
  private loss(position: number): number {
    const analysis = this.analyses.get(position);
    const before = analysis?.value;
    const after = this.analyses.get(position + 3)?.value ?? this.outcome(position);
    const fallen = before == null || after == null ? 0 : before - after;
    return Math.max(fallen, analysis?.cost ?? 0);
  }

  /** 0 or 1 where the game is decided before the player of this step decides again. */
  private outcome(position: number): number | null {
    const { result } = this.header;
    if (!result?.winner || this.end > position + 3 || this.end <= position) return null;
    return result.winner === this.steps[position]!.color ? 1 : 0;
  }

  private lossText(position: number, lost: number): string {
    const analysis = this.analyses.get(position)!;
    const rather = analysis.chosen === analysis.played ? "" : `; Penumbra would have chosen ${analysis.chosen}`;
    return `The chance to win fell by ${percent(lost)}${rather}.`;
  }
}

/** Where there is nothing that is not known. */
function whole(pieces: Pieces, color: Color): StateSet {
  const others = Object.entries(piecesOfColor(pieces, opponent(color)));
  const shares: Shares = Object.fromEntries(others.map(([square, piece]) => [square, { [piece.toUpperCase()]: 1 }]));
  return { states: 1, complete: true, bits: 0, pieces: shares };
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
