// Before a review: a file, dropped or chosen, or one of the games the server has.

import { make } from "../elements";
import { type Page, go } from "../page";
import { eraser } from "../play/history";
import type { About, History, ListedGame } from "../protocol";
import { get } from "../server";
import { CRASH, reasonName } from "../words";

export function reviewChoice(about: About, open: (file: File) => Promise<void>): Page {
  const fault = make("p", { class: "fault", role: "alert" });
  const input = make("input", { type: "file", accept: ".json,application/json", id: "game-file" });
  const read = async (file: File | undefined) => {
    if (!file) return;
    fault.textContent = "";
    try {
      await open(file);
    } catch (error) {
      fault.textContent = `${file.name} cannot be reviewed: ${(error as Error).message}.`;
    }
  };
  input.addEventListener("change", () => read(input.files?.[0]));
  const drop = make(
    "label",
    { class: "card drop", for: "game-file" },
    make("strong", {}, "Drop a game here, or choose a file"),
    make(
      "span",
      {},
      "Games as reconchess writes them (JSON). The server keeps them, with what Penumbra makes of them, until you delete them; whoever has the link can open them.",
    ),
    input,
  );
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    void read(event.dataTransfer?.files[0]);
  });
  const element = make(
    "div",
    { class: "narrow" },
    make("h1", {}, "Review"),
    drop,
    fault,
    uploadedGames(),
    gameList("Games played here", "/api/games", "game"),
  );
  if (about.archive) element.append(gameList("The archive", "/api/archive", "archive"));
  return { element, destroy: () => undefined };
}

function gameList(title: string, path: string, kind: string): HTMLElement {
  const list = make("ul", { class: "plain games" });
  const section = make("section", { class: "card" }, make("h2", {}, title), list);
  const add = async (before: string) => {
    const games = await get<ListedGame[]>(path + before);
    for (const game of games) list.append(make("li", {}, listed(game, kind)));
    if (!list.childElementCount) list.append(make("li", {}, "None yet."));
    const last = games.at(-1);
    if (kind === "archive" && games.length === 100 && last) {
      const more = make("button", { type: "button" }, "More");
      more.addEventListener("click", () => {
        more.remove();
        void add(`?before=${last.id}`);
      });
      section.append(more);
    }
  };
  add("").catch((error: Error) => list.replaceChildren(make("li", { class: "fault" }, error.message)));
  return section;
}

/** The files that this browser's user has uploaded. */
function uploadedGames(): HTMLElement {
  const list = make("ul", { class: "plain games" });
  const section = make("section", { class: "card", hidden: true }, make("h2", {}, "Your files"), list);
  const load = async (): Promise<void> => {
    const { uploads } = await get<History>("/api/history");
    list.replaceChildren(...uploads.map((game) => make("li", {}, listed(game, "game"), eraser(String(game.id), load))));
    section.hidden = !uploads.length;
  };
  load().catch(() => undefined); // then there are none to show
  return section;
}

function listed(game: ListedGame, kind: string): HTMLElement {
  const winner = game.winner === null ? "drawn" : `${game.winner === "white" ? game.white : game.black} won`;
  const how =
    game.reason === CRASH
      ? "no result, a program crashed"
      : game.reason
        ? `${winner}, ${reasonName(game.reason)}`
        : "not finished";
  const when = new Date(1000 * game.time).toLocaleDateString();
  const link = make("a", { href: `#/review/${kind}/${game.id}` }, `${game.white} v ${game.black}`);
  link.addEventListener("click", () => go(`#/review/${kind}/${game.id}`));
  return make("div", {}, link, make("small", {}, ` ${how}; ${game.plies} moves, ${when}`));
}
