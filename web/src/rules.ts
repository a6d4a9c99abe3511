// The rules on one page, a click away from every game.

import { make } from "./elements";

export function rulesList(): HTMLElement {
  return make(
    "ul",
    { class: "rules" },
    make("li", {}, "You win by capturing the king. There is no check, no mate and no stalemate."),
    make("li", {}, "Before each move you sense: the nine squares around one square are shown to you, as they are."),
    make("li", {}, "You are told when one of your pieces is captured, and where; not by what."),
    make("li", {}, "You are told when you capture, and where; not what."),
    make("li", {}, "A piece that slides stops at the first opposing piece in its way and captures it."),
    make("li", {}, "A pawn that finds nothing to capture, or is blocked, stays: the move is lost, like a pass."),
    make("li", {}, "You may castle out of, through and into danger, and you may pass."),
    make("li", {}, "After a hundred moves without a capture or a pawn move the game is drawn."),
  );
}

export function showRules(): void {
  const close = make("button", { type: "button", class: "primary" }, "Back");
  const dialog = make(
    "dialog",
    { class: "sheet", "aria-label": "Rules" },
    make("h2", {}, "Rules"),
    rulesList(),
    make("p", {}, make("a", { href: "#/learn" }, "Play the five lessons"), " to see each of them at work."),
    close,
  );
  close.addEventListener("click", () => dialog.close());
  dialog.querySelector("a")!.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
