// A player's own notes: ghost pieces put on the board by hand, kept in this browser for each game.

import { choice, make } from "../elements";
import type { Ghost } from "../board/layers";
import { pieceIcon } from "../board/pieces";
import { type Color, type Square, opponent, pieceName, pieceOf } from "../squares";

const KINDS = ["k", "q", "r", "b", "n", "p"];

export class Notes {
  readonly element: HTMLElement;
  private notes: Record<Square, string>;
  private chosen: string | null = null;

  constructor(
    private readonly game: string,
    color: Color,
    private readonly changed: () => void,
  ) {
    this.notes = JSON.parse(localStorage.getItem(this.key) ?? "{}") as Record<Square, string>;
    const pieces = KINDS.map((kind) => pieceOf(kind, opponent(color)));
    const palette = choice<string>(
      "Piece to note",
      [["", "Off"], ...pieces.map((piece): [string, string] => [piece, ""]), ["x", "Erase"]],
      "",
      (value) => {
        this.chosen = value || null;
        this.changed();
      },
    );
    for (const piece of pieces) {
      const button = palette.querySelector(`[data-value="${piece}"]`)!;
      button.append(pieceIcon(piece));
      button.setAttribute("aria-label", `note a ${pieceName(piece)}`);
    }
    const clear = make("button", { type: "button", class: "quiet", onclick: () => this.clear() }, "Clear all");
    this.element = make("div", { class: "notes" }, palette, clear);
  }

  /** Whether cells are for notes now. */
  get active(): boolean {
    return this.chosen !== null;
  }

  put(square: Square): string {
    const piece = this.chosen;
    if (!piece) return "";
    if (piece === "x" || this.notes[square] === piece) delete this.notes[square];
    else this.notes[square] = piece;
    this.save();
    return this.notes[square] ? `note: ${pieceName(piece)} on ${square}` : `no note on ${square}`;
  }

  /** A note dragged elsewhere, or off the board. */
  moveTo(from: Square, to: Square | null): void {
    const piece = this.notes[from];
    if (!piece || from === to) return;
    delete this.notes[from];
    if (to) this.notes[to] = piece;
    this.save();
  }

  ghosts(): Ghost[] {
    return Object.entries(this.notes).map(([square, piece]) => ({ square, piece, strength: 0.7, kind: "note" }));
  }

  at(square: Square): string | undefined {
    return this.notes[square];
  }

  private get key(): string {
    return `penumbra.notes.${this.game}`;
  }

  private clear(): void {
    this.notes = {};
    this.save();
  }

  private save(): void {
    if (Object.keys(this.notes).length) localStorage.setItem(this.key, JSON.stringify(this.notes));
    else localStorage.removeItem(this.key);
    this.changed();
  }
}
