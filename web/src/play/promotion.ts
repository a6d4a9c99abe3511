// Which piece a pawn becomes.

import { make } from "../elements";
import { pieceIcon } from "../board/pieces";
import { type Color, kindName, pieceOf } from "../squares";

/** The letter of the chosen piece, or null; the signal takes the question back. */
export function choosePromotion(color: Color, signal: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    const dialog = make("dialog", { class: "promotion", "aria-label": "Promote the pawn to" });
    for (const kind of ["q", "r", "b", "n"]) {
      const button = make("button", { type: "button", "aria-label": kindName(kind) }, pieceIcon(pieceOf(kind, color)));
      button.addEventListener("click", () => dialog.close(kind));
      dialog.append(button);
    }
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue || null);
    });
    signal.addEventListener("abort", () => dialog.close(""));
    document.body.append(dialog);
    dialog.showModal();
  });
}
