// What a player knows from its events alone: its own pieces, what it last saw on each square and when, what happened.

import type { GameEvent } from "../protocol";
import { type Color, type Pieces, type Square, SQUARES, colorOf, piecesOfColor } from "../squares";
import { moveText, notice } from "../words";
import type { Ghost } from "../board/layers";

export interface Sight {
  piece: string | null; // "?" for an opposing piece of which only its presence is known
  turn: number;
}

export interface Turn {
  number: number;
  sense: string;
  move: string;
  notices: string[];
}

const DARK_AFTER = 8; // turns after which a square is as dark as it gets
const DARKEST = 0.5;

export class Knowledge {
  own: Pieces;
  turn = 0;
  readonly sights = new Map<Square, Sight>();
  readonly turns: Turn[] = [];
  lastSense: Square | null = null; // of this turn
  lastMove: [Square, Square] | null = null;
  lost: Square | null = null; // by the opponent's last move
  news: string[] = []; // in words: the player's last move and what was told since

  constructor(
    readonly color: Color,
    start: Pieces,
    seen = color === "white" ? 1 : 0, // the turn of that: White knows everything in the first, since nobody has moved
  ) {
    this.own = piecesOfColor(start, color);
    for (const square of SQUARES) this.sights.set(square, { piece: start[square] ?? null, turn: seen });
  }

  /** Takes in one event; what it says in words. */
  learn(event: GameEvent): string {
    const words = notice(event, this.own, this.turn === 0 && this.color === "white");
    const before = this.own;
    this.own = event.own;
    this.news = event.type === "moved" ? [words] : [...this.news, words];
    switch (event.type) {
      case "turn":
        this.turn++;
        this.turns.push({ number: this.turn, sense: "", move: "", notices: event.capture ? [words] : [] });
        this.lastSense = null;
        this.lost = event.capture;
        if (event.capture) this.sights.set(event.capture, { piece: "?", turn: this.turn });
        break;
      case "sensed":
        this.lastSense = event.square;
        this.last.sense = event.square ?? "none";
        this.see(event.seen);
        break;
      case "moved":
        this.lastMove = event.taken ? [event.taken.slice(0, 2), event.taken.slice(2, 4)] : null;
        this.last.move = moveText(event.requested, event.taken, event.capture, before);
        if (event.requested !== event.taken || event.capture) this.last.notices.push(words);
        this.forgetWhereWeAre(event.taken, event.capture);
        break;
    }
    return words;
  }

  age(square: Square): number {
    return this.turn - (this.sights.get(square)?.turn ?? 0);
  }

  /** Opposing pieces as last seen, the paler the longer ago. */
  ghosts(showAges: boolean): Ghost[] {
    const ghosts: Ghost[] = [];
    for (const [square, { piece }] of this.sights) {
      if (!piece || this.own[square] || (piece !== "?" && colorOf(piece) === this.color)) continue;
      const age = this.age(square);
      const strength = age === 0 ? 1 : Math.max(0.1, 0.75 - age / 12);
      ghosts.push({ square, piece, strength, kind: "seen", label: showAges && age > 0 ? String(age) : undefined });
    }
    return ghosts;
  }

  /** How dark each square is; own pieces need no light. */
  fog(): Record<Square, number> {
    const fog: Record<Square, number> = {};
    for (const square of SQUARES) {
      const age = this.age(square);
      fog[square] = this.own[square] ? 0 : Math.min(1, age / DARK_AFTER) * DARKEST;
    }
    return fog;
  }

  private get last(): Turn {
    const turn = this.turns.at(-1);
    if (!turn) throw new Error("a step came before its turn");
    return turn;
  }

  private see(seen: Record<Square, string | null>): void {
    for (const [square, piece] of Object.entries(seen)) {
      if (piece?.toLowerCase() === "k" && colorOf(piece) !== this.color) this.forgetKing();
      this.sights.set(square, { piece, turn: this.turn });
    }
  }

  /** There is one king: where it was seen before, it no longer is. */
  private forgetKing(): void {
    for (const sight of this.sights.values()) {
      if (sight.piece?.toLowerCase() === "k" && colorOf(sight.piece) !== this.color) sight.piece = null;
    }
  }

  /** Nothing of the opponent's is left where we moved or captured. */
  private forgetWhereWeAre(taken: string | null, capture: Square | null): void {
    for (const square of [taken?.slice(2, 4), taken?.slice(0, 2), capture]) {
      if (square) this.sights.set(square, { piece: null, turn: this.turn });
    }
  }
}
