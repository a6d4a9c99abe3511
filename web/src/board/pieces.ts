// The drawings of the pieces: cm-chessboard's sprite, put into the page once, so that nothing needs to be fetched.

import sprite from "cm-chessboard/assets/pieces/standard.svg?raw";
import { make, makeSvg } from "../elements";
import { colorOf } from "../squares";

const SPRITE = "cm-chessboard-sprite"; // where cm-chessboard looks for it
export const TILE = 40;

export function loadPieces(): void {
  if (document.getElementById(SPRITE)) return;
  const holder = make("div", { id: SPRITE, "aria-hidden": "true", class: "sprite" });
  holder.innerHTML = sprite.slice(sprite.indexOf("<svg"));
  document.body.append(holder);
}

export const spriteId = (piece: string): string => `${colorOf(piece)[0]}${piece.toLowerCase()}`;

/** A piece on its own, for buttons and lists. */
export function pieceIcon(piece: string): SVGSVGElement {
  const use = makeSvg("use", { href: `#${spriteId(piece)}` });
  return makeSvg("svg", { viewBox: `0 0 ${TILE} ${TILE}`, class: "piece-icon", "aria-hidden": "true" }, use);
}
