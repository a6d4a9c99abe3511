// A hint in words: what to do, and what is gained by it.

import type { Hint } from "../protocol";
import { count, percent } from "../words";

export function hintWords(hint: Hint): string {
  if (hint.kind === "sense") {
    if (!hint.square) return "Hint: no sense is worth more than another now.";
    const { states, after } = hint;
    const gain =
      states !== null && after !== null && states > 1
        ? ` of ${count(states, "position")} it leaves ${after < 10 ? after.toFixed(1) : Math.round(after)} on average`
        : "";
    return `Hint: sense ${hint.square};${gain || " it confirms what you know"}.`;
  }
  const value = hint.value === null ? "" : `, with a chance to win of ${percent(hint.value)}`;
  const other =
    hint.other && hint.other.value !== null
      ? `; the next best, ${hint.other.move ?? "a pass"}, ${percent(hint.other.value)}`
      : "";
  const king = hint.king ? ` It takes the king in ${percent(hint.king)} of the positions possible.` : "";
  return `Hint: ${hint.move ? `move ${hint.move.slice(0, 2)}–${hint.move.slice(2)}` : "pass"}${value}${other}.${king}`;
}
