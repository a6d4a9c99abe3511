// The games of this browser that are not over: kept here, since the server tells nobody whose games it holds.

import { make } from "../elements";

interface Ongoing {
  id: string;
  opponent: string;
  color: string;
  time: number;
}

const KEY = "penumbra.ongoing";
const MOST = 20;

function read(): Ongoing[] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "[]") as Ongoing[];
  } catch {
    return [];
  }
}

export function rememberGame(id: string, opponent: string, color: string): void {
  const others = read().filter((game) => game.id !== id);
  localStorage.setItem(KEY, JSON.stringify([{ id, opponent, color, time: Date.now() }, ...others].slice(0, MOST)));
}

export function forgetGame(id: string): void {
  localStorage.setItem(KEY, JSON.stringify(read().filter((game) => game.id !== id)));
}

export function ongoingGames(): HTMLElement {
  const games = read();
  if (!games.length) return make("div");
  const items = games.map(({ id, opponent, color, time }) =>
    make(
      "li",
      {},
      make("a", { href: `#/play/${id}` }, `${opponent}, you have ${color}`),
      make("small", {}, ` ${new Date(time).toLocaleString()}`),
    ),
  );
  return make(
    "section",
    { class: "card" },
    make("h2", {}, "Go on with a game"),
    make("ul", { class: "plain" }, ...items),
  );
}
