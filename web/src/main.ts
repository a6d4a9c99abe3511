// The application: which page is shown for which address, and the frame around it.

import "cm-chessboard/assets/chessboard.css";
import "./style.css";
import { alertUser } from "./announce";
import { setTitle } from "./attention";
import { make } from "./elements";
import { learn } from "./learn/learn";
import type { Page } from "./page";
import { playGame } from "./play/game";
import { historyPage } from "./play/history";
import { playSetup } from "./play/setup";
import { practice } from "./practice";
import { PROTOCOL, type About } from "./protocol";
import { reviewChoice } from "./review/choose";
import { embeddedReview, openFile, openStored } from "./review/open";
import { reviewGame } from "./review/review";
import { get } from "./server";
import { nextTheme, applyTheme } from "./theme";
import { watchGame, watchSetup } from "./watch/watch";

const main = make("main", { id: "main", tabindex: "-1" });
const links = ["play", "learn", "practice", "games", "watch", "review"].map((name) =>
  make("a", { href: `#/${name}` }, name[0]!.toUpperCase() + name.slice(1)),
);
let page: Page | null = null;

function frame(withLinks: boolean): void {
  const theme = make(
    "button",
    { type: "button", class: "quiet theme", "aria-label": "Change between light and dark", onclick: nextTheme },
    "◐",
  );
  const skip = make("a", { class: "skip", href: "#main" }, "To the content");
  skip.addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  const brand = make(
    "a",
    { class: "brand", "aria-label": "Penumbra", href: withLinks ? "#/play" : "#" },
    make("span", { class: "mark", "aria-hidden": "true" }),
    make("span", { class: "name" }, "Penumbra"),
  );
  document
    .getElementById("app")!
    .append(
      skip,
      make(
        "header",
        { class: "top" },
        brand,
        make("nav", { "aria-label": "Pages" }, ...(withLinks ? links : [])),
        theme,
      ),
      main,
    );
}

function show(next: Page, title: string): void {
  page?.destroy();
  page = next;
  main.replaceChildren(next.element);
  setTitle(title);
  document.body.classList.toggle("playing", next.element.classList.contains("table"));
}

function fault(message: string): void {
  show(
    {
      element: make(
        "div",
        { class: "card narrow" },
        make("h1", {}, "That did not work"),
        make("p", { class: "fault" }, message),
      ),
      destroy: () => undefined,
    },
    "",
  );
  alertUser(message);
}

let shown = "";

/** `#/review/game/ID/12` is position 12 of a game; going through the game changes only that last part. */
async function route(about: About): Promise<void> {
  const [, kind = "play", first = "", second = "", position = "0"] = location.hash.split("/");
  const address = `${kind}/${first}/${second}`;
  if (address === shown) return;
  shown = address;
  for (const link of links) {
    if (link.hash === `#/${kind}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (kind === "practice") show(practice(first), "Practice");
  else if (kind === "watch") show(first ? watchGame(first) : watchSetup(about), "Watch");
  else if (kind === "learn") show(learn(first, second), "Learn");
  else if (kind === "games") show(historyPage(), "Your games");
  else if (kind === "review" && second) {
    const source = await openStored(first, second, Number(position));
    if (address === shown) show(reviewGame(source, about), "Review");
  } else if (kind === "review") {
    const open = async (file: File) => {
      const source = await openFile(file);
      if (source) show(reviewGame(source, about), "Review");
    };
    show(reviewChoice(about, open), "Review");
  } else show(first ? playGame(first) : playSetup(about), "Play");
}

async function start(): Promise<void> {
  applyTheme();
  const embedded = embeddedReview();
  frame(!embedded);
  if (embedded) {
    show(reviewGame(embedded, null), `${embedded.header.white} v ${embedded.header.black}`);
    return;
  }
  const about = await get<About>("/api/about");
  if (about.protocol !== PROTOCOL) throw new Error("the server has been updated; load the page again");
  const follow = () => route(about).catch((error: Error) => fault(`${error.message}.`));
  window.addEventListener("hashchange", follow);
  await follow();
}

start().catch((error: Error) => fault(`${error.message}.`));
