// Shares of states, in which pieces stand on squares, as a belief that a board can show.

import type { Shares } from "../protocol";
import { type Color, type Square, pieceOf } from "../squares";
import type { Belief, Ghost } from "./layers";

export type Style = "ghosts" | "heat";

export function beliefOf(pieces: Shares, color: Color, style: Style): Belief {
  const heat: Record<Square, number> = {};
  const ghosts: Ghost[] = [];
  for (const [square, kinds] of Object.entries(pieces)) {
    const all = Object.values(kinds).reduce((sum, share) => sum + share, 0);
    const [kind] = Object.entries(kinds).sort((a, b) => b[1] - a[1])[0]!;
    if (style === "heat") heat[square] = all;
    else {
      const label = all < 0.995 ? String(Math.round(100 * all)) : undefined;
      ghosts.push({ square, piece: pieceOf(kind, color), strength: all, kind: "belief", label });
    }
  }
  return { heat, ghosts };
}
