// The games of this browser's user, as the server keeps them: looked at again, saved, deleted; and the score.

import { alertUser, say } from "../announce";
import { download, make } from "../elements";
import { type Page, go } from "../page";
import type { History, PastGame } from "../protocol";
import { Refused, get, getText, remove } from "../server";
import { count, reasonName, sideName } from "../words";
import { scoreText } from "./ladder";
import { forgetGame } from "./ongoing";

export function historyPage(): Page {
  const element = make("div", { class: "wide" }, make("h1", {}, "Your games"), make("p", { class: "loading" }, "…"));
  const load = async (): Promise<void> => {
    const history = await get<History>("/api/history");
    element.replaceChildren(make("h1", {}, "Your games"), ...content(history, load));
  };
  load().catch((error: Error) => alertUser(error.message));
  return { element, destroy: () => undefined };
}

function content({ games, uploads, days, kept_days }: History, reload: () => Promise<void>): HTMLElement[] {
  const until = kept_days === null ? "until you delete them" : `for ${count(kept_days, "day")} after their last change`;
  const kept = make(
    "p",
    { class: "lead" },
    `Games are kept on this server ${until}. They belong to an anonymous cookie of this browser, which lasts for ${days} days after your last game: without it nobody can find them as yours.`,
  );
  if (!games.length && !uploads.length)
    return [kept, make("p", {}, "There are none yet. ", make("a", { href: "#/play" }, "Play one"), ".")];
  const all = make("button", { type: "button", class: "quiet" }, "Delete all");
  all.addEventListener("click", () => {
    if (!sure(all, "Really delete all?")) return;
    void change(async () => {
      await remove("/api/history");
      for (const { id } of games) forgetGame(id);
      await reload();
    }, "All games are deleted.");
  });
  const files = make(
    "p",
    {},
    `${count(uploads.length, "file")} that you have uploaded ${uploads.length === 1 ? "is" : "are"} listed under `,
    make("a", { href: "#/review" }, "Review"),
    ".",
  );
  return [
    kept,
    ...(games.length ? [scores(games), list(games, reload)] : []),
    ...(uploads.length ? [files] : []),
    make("div", { class: "actions" }, all),
  ];
}

function scores(games: readonly PastGame[]): HTMLElement {
  const names = [...new Set(games.map(({ opponent }) => sideName(opponent)))];
  const lines = names.map((name) => {
    const met = games.filter(({ opponent }) => sideName(opponent) === name);
    const unaided = met.filter(({ aids }) => !aids.length);
    const text = scoreText(met) || "no game is over";
    const alone = met.length > unaided.length ? `; unassisted: ${scoreText(unaided) || "none"}` : "";
    return make("li", {}, make("strong", {}, name), ` ${text}${alone}`);
  });
  return make("section", { class: "card" }, make("h2", {}, "Score"), make("ul", { class: "plain" }, ...lines));
}

function list(games: readonly PastGame[], reload: () => Promise<void>): HTMLElement {
  const rows = games.map((game) => {
    const over = game.result !== null;
    const save = make("button", { type: "button", class: "quiet" }, "Save");
    save.addEventListener("click", () =>
      change(async () => {
        const text = await getText(`/api/games/${game.id}`);
        download(`${new Date(1000 * game.time).toISOString().slice(0, 10)}-${game.id}.json`, new Blob([text]));
      }, "The game is saved."),
    );
    const open = make(
      "button",
      { type: "button", onclick: () => go(over ? `#/review/game/${game.id}` : `#/play/${game.id}`) },
      over ? "Review" : "Go on",
    );
    return make(
      "li",
      {},
      make("span", { class: `disc ${game.color}`, role: "img", "aria-label": `you had ${game.color}` }),
      make("span", { class: "against" }, make("strong", {}, sideName(game.opponent)), make("small", {}, outcome(game))),
      make("time", {}, new Date(1000 * game.time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })),
      make("span", { class: "actions" }, open, over && save, eraser(game.id, reload)),
    );
  });
  return make("ul", { class: "plain past-games" }, ...rows);
}

/** A button that deletes a game, when it is pressed twice. */
export function eraser(id: string, reload: () => Promise<void>): HTMLElement {
  const erase = make("button", { type: "button", class: "quiet" }, "Delete");
  erase.addEventListener("click", () => {
    if (!sure(erase, "Really?")) return;
    void change(async () => {
      await remove(`/api/games/${id}`);
      forgetGame(id);
      await reload();
    }, "The game is deleted.");
  });
  return erase;
}

function outcome({ result, color, aids, retried }: PastGame): string {
  const from = retried === null ? "" : `, retried from turn ${Math.floor(retried / 4) + 1} of another game`;
  const helped =
    from + (aids.length ? `, with ${aids.map((aid) => (aid === "hint" ? "hints" : "assistance")).join(" and ")}` : "");
  if (!result) return `not over${helped}`;
  if (result.reason === "CRASH") return `no result: a program crashed${helped}`;
  const score = result.winner === null ? "drawn" : result.winner === color ? "won" : "lost";
  return `${score} in ${count(Math.ceil(result.plies / 2), "turn")}: ${reasonName(result.reason)}${helped}`;
}

/** Whether a button has been pressed for the second time. */
function sure(button: HTMLElement, question: string): boolean {
  if (button.dataset["sure"]) return true;
  const text = button.textContent;
  button.dataset["sure"] = "yes";
  button.textContent = question;
  setTimeout(() => {
    delete button.dataset["sure"];
    button.textContent = text;
  }, 4000);
  return false;
}

async function change(act: () => Promise<void>, done: string): Promise<void> {
  try {
    await act();
    say(done);
  } catch (error) {
    alertUser(error instanceof Refused ? error.message : String(error));
  }
}
