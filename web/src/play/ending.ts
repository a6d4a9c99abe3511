// How a game ended: its last move on the true board, why it was lost, and what to do next.

import { go } from "../page";
import { make } from "../elements";
import type { EndingFacts, PlayGreeting, Result } from "../protocol";
import { alertUser } from "../announce";
import { Refused, get, post } from "../server";
import { opponent, piecesOfFen } from "../squares";
import { endingWords } from "../words";
import { forgetGame } from "./ongoing";
import type { Table } from "./table";

const REPLAY_AFTER = 700; // milliseconds that the position before the last move stays

export class Ending {
  readonly element = make("section", { class: "ending", "aria-label": "How it ended", hidden: true });
  private readonly again = make("button", { type: "button" }, "Rematch, colours swapped");
  private readonly offer = make("p", { class: "offer", role: "status" });

  async show(game: PlayGreeting["game"], result: Result, table: Table): Promise<void> {
    forgetGame(game.id);
    const why = make("ul", { class: "why" });
    this.again.onclick = () => rematch(game);
    this.element.replaceChildren(
      why,
      this.offer,
      make(
        "div",
        { class: "actions" },
        make(
          "button",
          { type: "button", class: "primary", onclick: () => go(`#/review/game/${game.id}`) },
          "Review the game",
        ),
        this.again,
        make("button", { type: "button", onclick: () => go("#/play") }, "New game"),
      ),
    );
    this.element.hidden = false;
    try {
      const facts = await get<EndingFacts>(`/api/games/${game.id}/ending`);
      why.replaceChildren(...endingWords(game.color, result, facts).map((words) => make("li", {}, words)));
      replay(table, facts);
    } catch {
      why.replaceChildren(make("li", {}, "How it ended cannot be shown now; the review can."));
    }
  }

  /** The other of two people wants to play again. */
  offered(yes: boolean): void {
    this.offer.textContent = yes ? "Your friend would like a rematch." : "";
    this.again.textContent = yes ? "Accept the rematch" : "Rematch, colours swapped";
  }
}

/** The position before the last move, the move, and the position after it. */
function replay(table: Table, facts: EndingFacts): void {
  const { last } = facts;
  table.truth = piecesOfFen(facts.before);
  table.marked = last ? { last: [last.from, last.to] } : null;
  table.draw();
  window.setTimeout(() => {
    table.truth = piecesOfFen(facts.after);
    table.marked = last ? { last: [last.from, last.to], capture: last.capture ? [last.capture] : [] } : null;
    table.draw();
  }, REPLAY_AFTER);
}

/** Another game like this one, with the colours swapped. */
async function rematch(game: PlayGreeting["game"]): Promise<void> {
  const side = game[opponent(game.color)];
  const strength = {
    ...(side.seconds === null ? {} : { seconds: side.seconds }),
    ...(side.nodes === null ? {} : { nodes: side.nodes }),
  };
  const wish = {
    mode: "play",
    opponent: { player: side.player, strength },
    color: opponent(game.color),
    clock: game.clock,
  };
  const path = side.player === null ? `/api/games/${game.id}/rematch` : "/api/games";
  try {
    go(`#/play/${(await post<{ game: string }>(path, wish)).game}`);
  } catch (error) {
    alertUser(error instanceof Refused ? error.message : String(error));
  }
}
