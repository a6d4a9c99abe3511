// Squares of the real board by name, and what the rules make of them.

export type Square = string; // "a1" to "h8"
export type Color = "white" | "black";
export type Pieces = Readonly<Record<Square, string>>; // letters as in a FEN

export const FILES = "abcdefgh";

export const SQUARES: readonly Square[] = [...Array(64).keys()].map((i) => `${FILES[i % 8]}${Math.floor(i / 8) + 1}`);

const KINDS: Record<string, string> = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };

export const opponent = (color: Color): Color => (color === "white" ? "black" : "white");

export const colorOf = (piece: string): Color => (piece === piece.toUpperCase() ? "white" : "black");

export const kindName = (piece: string): string => KINDS[piece.toLowerCase()] ?? "piece";

export const pieceName = (piece: string): string => `${colorOf(piece)} ${kindName(piece)}`;

/** A kind of piece, "N" or "n", as a piece of that colour. */
export const pieceOf = (kind: string, color: Color): string =>
  color === "white" ? kind.toUpperCase() : kind.toLowerCase();

export const fileOf = (square: Square): number => square.charCodeAt(0) - 97;

export const rankOf = (square: Square): number => square.charCodeAt(1) - 49;

export function squareAt(file: number, rank: number): Square | null {
  return file < 0 || file > 7 || rank < 0 || rank > 7 ? null : `${FILES[file]}${rank + 1}`;
}

/** The squares that a sense shows: 9, 6 or 4. */
export function senseWindow(square: Square): Square[] {
  const window: Square[] = [];
  for (const rank of [1, 0, -1]) {
    for (const file of [-1, 0, 1]) {
      const at = squareAt(fileOf(square) + file, rankOf(square) + rank);
      if (at) window.push(at);
    }
  }
  return window;
}

export function piecesOfFen(fen: string): Pieces {
  const pieces: Record<Square, string> = {};
  fen
    .split(" ")[0]!
    .split("/")
    .forEach((row, i) => {
      let file = 0;
      for (const letter of row) {
        if (/\d/.test(letter)) file += Number(letter);
        else pieces[`${FILES[file++]}${8 - i}`] = letter;
      }
    });
  return pieces;
}

export function placementOf(pieces: Pieces): string {
  const rows: string[] = [];
  for (let rank = 7; rank >= 0; rank--) {
    let row = "";
    let empty = 0;
    for (let file = 0; file < 8; file++) {
      const piece = pieces[squareAt(file, rank)!];
      if (!piece) {
        empty++;
        continue;
      }
      row += (empty || "") + piece;
      empty = 0;
    }
    rows.push(row + (empty || ""));
  }
  return rows.join("/");
}

export function piecesOfColor(pieces: Pieces, color: Color): Pieces {
  return Object.fromEntries(Object.entries(pieces).filter(([, piece]) => colorOf(piece) === color));
}
