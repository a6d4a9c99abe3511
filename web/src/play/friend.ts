// A game between two people: begun by one, who passes its link on, and joined by the other.

import { alertUser, say } from "../announce";
import { field, labelled, make } from "../elements";
import { go } from "../page";
import type { FreeSeat } from "../protocol";
import { Refused, get, post, remove } from "../server";
import { forgetGame } from "./ongoing";
import { clockChoice, clockOf, clockWords, colorChoice, setupForm } from "./setup";

/** A form that makes a game and leads to its link. */
export function friendSetup(): HTMLElement {
  let color: "white" | "black" | "random" = "random";
  const clock = clockChoice();
  const form = setupForm(
    "",
    "You get a link to pass on. Whoever opens it first has the other side. There are no hints and no assistance.",
    [
      make(
        "div",
        { class: "row" },
        labelled(
          "Your colour",
          colorChoice(color, (value) => (color = value)),
        ),
        field("Clock", clock),
      ),
    ],
    async () => {
      const wish = { mode: "friend", color, clock: clockOf(clock.value) };
      go(`#/play/${(await post<{ game: string }>("/api/games", wish)).game}`);
    },
    "Make a link",
  );
  return make("details", { class: "card" }, make("summary", {}, "Play a friend"), form);
}

/** For who has begun the game, until the other one comes. */
export function linkToShare(id: string): HTMLElement {
  const link = `${location.href.split("#")[0]}#/play/${id}`;
  const shown = make("input", { type: "text", readonly: true, value: link, "aria-label": "Link for your friend" });
  const copy = make("button", { type: "button", class: "primary" }, "Copy the link");
  copy.addEventListener("click", async () => {
    shown.select();
    try {
      await navigator.clipboard.writeText(link);
      copy.textContent = "Copied";
      say("The link is copied.");
    } catch {
      say("The link is selected.");
    }
  });
  const cancel = make("button", { type: "button", class: "quiet" }, "Cancel");
  cancel.addEventListener("click", async () => {
    try {
      await remove(`/api/games/${id}`);
      forgetGame(id);
      go("#/play");
    } catch (error) {
      alertUser(error instanceof Refused ? error.message : String(error));
    }
  });
  const here = /^(localhost|127\.|\[::1\])/.test(location.host);
  return make(
    "section",
    { class: "invite", "aria-label": "Invitation" },
    make("p", {}, "Pass this link on to your friend. The game begins when the other side is taken."),
    here &&
      make("p", {}, make("small", {}, "It works on this computer alone: for others, start the server with --public.")),
    shown,
    make("div", { class: "actions" }, copy, cancel),
  );
}

/** For who has opened such a link. */
export function invitation(id: string, join: () => void): HTMLElement {
  const words = make("p", {}, "…");
  const take = make("button", { type: "button", class: "primary" }, "Play");
  const fault = make("p", { class: "fault", role: "alert" });
  take.addEventListener("click", async () => {
    try {
      await post(`/api/games/${id}/seat`, {});
      join();
    } catch (error) {
      fault.textContent = `${(error as Error).message}.`;
    }
  });
  get<FreeSeat>(`/api/games/${id}/seat`).then(
    ({ color, clock }) =>
      (words.textContent = `Somebody asks you to a game of reconnaissance blind chess. You have ${color}; ${clockWords(clock)}.`),
    (error: Error) => (fault.textContent = `${error.message}.`),
  );
  return make(
    "div",
    { class: "card narrow" },
    make("h1", {}, "You are invited"),
    words,
    make("div", { class: "actions" }, take, make("a", { href: "#/learn" }, "Learn the game first")),
    fault,
  );
}
