// A game under review: boards, scrubber, curves, the list of steps, Penumbra's analysis, and ways to share.

import { say } from "../announce";
import { choice, download, make, select } from "../elements";
import { type Page, go } from "../page";
import type { About, Analysis, ReviewHeader, Step } from "../protocol";
import { Refused, getLines, post, postForLines } from "../server";
import { settings } from "../settings";
import { percent, resultLine } from "../words";
import { overlayChoice, thoughtView } from "./analysis_panel";
import { Boards, type Shown } from "./boards";
import { Curves } from "./curves";
import { GameModel, stepSentence, stepText } from "./game_model";
import { boardPicture } from "./picture";
import { Scrubber } from "./player";
import "./review.css";

const SETTLED = 150; // milliseconds
const PERSON = "Person"; // as the server calls whoever plays here
const MOST_MISTAKES = 30;
const VIEW = "penumbra.review.view"; // where the view that was chosen last is kept

type Tab = "moves" | "engine" | "curves" | "mistakes" | "share";
const TABS: [Tab, string][] = [
  ["moves", "Moves"],
  ["engine", "Engine"],
  ["curves", "Curves"],
  ["mistakes", "Mistakes"],
  ["share", "More"],
];

export interface ReviewSource {
  header: ReviewHeader;
  steps: AsyncIterable<Step> | Step[];
  file: string | null; // the game as reconchess writes it
  link: string | null; // the address of the game, without a step
  position: number;
  kept: string | null; // the id under which the server keeps the game, and its analyses
}

/** `about` is null where there is no server to ask. */
export function reviewGame(source: ReviewSource, about: About | null): Page {
  return new ReviewPage(source, about);
}

class ReviewPage implements Page {
  readonly element = make("div", { class: "study", "data-tab-shown": "moves" });
  private readonly game: GameModel;
  private readonly boards: Boards;
  private readonly curves: Curves;
  private readonly scrubber: Scrubber;
  private readonly sentence = make("p", { class: "sentence", role: "status" });
  private readonly list = make("ol", { class: "steps", "aria-label": "Steps", tabindex: "0" });
  private readonly progress = make("p", { class: "progress" });
  private readonly judged = make("p", { class: "judged" });
  private readonly unable = make("p", { class: "fault", role: "alert" });
  private readonly mistakes = make("ol", { class: "mistakes", "aria-label": "Mistakes, the worst first" });
  private readonly thought = make("div", { class: "thought-holder" });
  private readonly seconds = select(
    [
      ["0.3", "0.3 s"],
      ["1", "1 s"],
      ["5", "5 s"],
    ],
    "0.3",
  );
  private readonly fault = make("p", { class: "fault", role: "alert" });
  private readonly thinking = make("p", { class: "progress", role: "status" });
  private readonly abort = new AbortController();
  private entries: HTMLElement[] = [];
  private current: HTMLElement | null = null; // of the steps listed
  private drawing = 0;
  private settling = 0;
  private destroyed = false;

  constructor(
    private readonly source: ReviewSource,
    private readonly about: About | null,
  ) {
    this.game = new GameModel(source.header);
    const { white, black } = source.header;
    const kept = localStorage.getItem(VIEW) as Shown | null;
    this.boards = new Boards(kept ?? "truth", black === PERSON && white !== PERSON, (view) => this.viewed(view));
    this.viewed(this.boards.element.dataset["view"] as Shown);
    this.curves = new Curves((position) => this.scrubber.go(position));
    this.scrubber = new Scrubber(
      this.game,
      (position, animated) => this.show(position, animated),
      (words) => (this.sentence.textContent = words),
    );
    this.build();
    void this.read();
  }

  destroy(): void {
    this.destroyed = true;
    this.abort.abort();
    window.clearTimeout(this.settling);
    this.scrubber.destroy();
    this.boards.destroy();
  }

  // -- building

  private build(): void {
    const { header } = this.source;
    this.element.append(
      make(
        "header",
        { class: "review-head" },
        make("h1", {}, `${header.white} v ${header.black}`),
        make("p", {}, resultLine(header.result)),
      ),
      make("div", { class: "stage" }, this.boards.element, this.scrubber.element),
      make("div", { class: "told" }, this.sentence, this.judged, this.tabs(), this.stepsPanel(), this.curvesPanel()),
      make("div", { class: "panel" }, this.analysisPanel(), this.mistakesPanel(), this.sharePanel()),
    );
    this.scrubber.grow(header.steps);
  }

  private tabs(): HTMLElement {
    const tabs = choice<Tab>("Panel", TABS, "moves", (tab) => {
      this.element.dataset["tabShown"] = tab;
      this.redrawSoon();
    });
    tabs.classList.add("tabs");
    return tabs;
  }

  private viewed(view: Shown): void {
    this.element.dataset["shown"] = view;
    try {
      localStorage.setItem(VIEW, view);
    } catch {
      // the next review begins with the usual view
    }
  }

  private stepsPanel(): HTMLElement {
    this.list.addEventListener("click", (event) => {
      const entry = (event.target as HTMLElement).closest<HTMLElement>("[data-position]");
      if (entry) this.scrubber.go(Number(entry.dataset["position"]));
    });
    return make(
      "section",
      { class: "card steps-panel", "data-tab": "moves" },
      make("h2", {}, "Steps"),
      this.list,
      this.progress,
    );
  }

  private curvesPanel(): HTMLElement {
    return make("section", { "data-tab": "curves", "aria-label": "Curves" }, this.curves.element);
  }

  private mistakesPanel(): HTMLElement {
    this.mistakes.addEventListener("click", (event) => {
      const entry = (event.target as HTMLElement).closest<HTMLElement>("[data-position]");
      if (entry) this.scrubber.go(Number(entry.dataset["position"]));
    });
    const retry = make("button", { type: "button", onclick: () => this.retry() }, "Retry from here");
    return make(
      "section",
      { class: "card", "data-tab": "mistakes" },
      make("div", { class: "actions" }, make("h2", {}, "Mistakes"), this.about && this.source.file !== null && retry),
      this.unable,
      this.mistakes,
    );
  }

  private analysisPanel(): HTMLElement {
    const panel = make("section", { class: "card analysis", "data-tab": "engine" });
    panel.append(make("h2", {}, "What Penumbra thinks"));
    if (!this.about || !this.source.file) {
      panel.append(make("p", {}, "An analysis needs a server: penumbra serve."), this.thought);
      return panel;
    }
    this.seconds.setAttribute("aria-label", "Time for each step");
    panel.append(
      make(
        "div",
        { class: "actions" },
        make("button", { type: "button", class: "primary", onclick: () => this.analyse(false) }, "Analyse this turn"),
        make("button", { type: "button", onclick: () => this.analyse(true) }, "Whole game"),
        this.seconds,
      ),
      overlayChoice("policy", (overlay) => {
        this.boards.overlay = overlay;
        this.boards.redraw();
      }),
      this.thinking,
      this.fault,
      this.thought,
    );
    return panel;
  }

  private sharePanel(): HTMLElement {
    const { file, link } = this.source;
    const button = (text: string, act: () => void) => make("button", { type: "button", onclick: act }, text);
    return make(
      "section",
      { class: "card share", "data-tab": "share" },
      make("h2", {}, "Look and share"),
      this.boards.controls(),
      make(
        "div",
        { class: "actions" },
        file !== null &&
          button("Save the game", () => download("game.json", new Blob([file], { type: "application/json" }))),
        button("Copy the FEN", () => this.copy(this.game.fen(this.scrubber.position), "The FEN is copied.")),
        button("Save a picture", () => this.picture()),
        link !== null &&
          button("Copy a link to this step", () =>
            this.copy(`${location.href.split("#")[0]}${link}/${this.scrubber.position}`, "The link is copied."),
          ),
      ),
    );
  }

  // -- the game

  private async read(): Promise<void> {
    const wanted = this.source.position;
    try {
      for await (const step of this.source.steps) {
        if (this.destroyed) return;
        this.game.add(step);
        this.addEntry(step);
        if (this.game.end === wanted) this.scrubber.go(wanted);
        else if (this.game.end === 1 && !wanted) this.scrubber.go(0);
        this.redrawSoon();
      }
      this.progress.textContent = "";
      if (wanted > this.game.end) this.scrubber.go(this.game.end);
      await this.recall();
    } catch (error) {
      if (!this.destroyed) this.progress.textContent = `The review stopped: ${(error as Error).message}.`;
      return;
    }
    this.redrawSoon();
  }

  /** The analyses that the server has kept. */
  private async recall(): Promise<void> {
    const { kept } = this.source;
    if (kept === null) return;
    for await (const analysis of getLines<Analysis>(`/api/games/${kept}/analysis`, this.abort.signal))
      this.game.addAnalysis(analysis);
    if (this.game.analyses.size) this.scrubber.go(this.scrubber.position);
  }

  private addEntry(step: Step): void {
    const position = this.game.end;
    if (step.type === "sensed") {
      const number = step.color === "white" ? `${step.turn}.` : "";
      this.list.append(make("li", { class: step.color }, make("span", { class: "number" }, number)));
    }
    const entry = make("button", { type: "button", "data-position": position }, stepText(step));
    this.entries.push(entry);
    this.list.lastElementChild!.append(entry);
    if (position < this.source.header.steps)
      this.progress.textContent = `Following both players' knowledge: ${position} of ${this.source.header.steps} steps`;
  }

  private redrawSoon(): void {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      if (this.destroyed) return;
      this.curves.draw(this.game, Math.max(this.source.header.steps, this.game.end));
      this.curves.mark(this.game, this.scrubber.position);
      this.drawMistakes();
    });
  }

  private drawMistakes(): void {
    const entries = this.game.mistakes().map(({ position, color, cost, text }) => {
      const { turn } = this.game.steps[position - 1]!;
      const words = make("span", {}, make("strong", {}, `${turn}. ${color === "white" ? "White" : "Black"} `), text);
      const button = make("button", { type: "button", "data-position": position }, percent(cost), words);
      return make("li", { class: color }, button);
    });
    const none = "None by the rules alone. Let Penumbra analyse the whole game to find more.";
    this.mistakes.replaceChildren(...(entries.length ? entries.slice(0, MOST_MISTAKES) : [make("li", {}, none)]));
  }

  // -- showing

  private show(position: number, animated: boolean): void {
    const last = this.game.steps[position - 1];
    this.boards.show(this.game, position, animated);
    this.curves.mark(this.game, position);
    this.sentence.textContent = last ? stepSentence(last, this.game.pieces(position - 1)) : "The game begins.";
    const verdict = this.game.verdict(position);
    this.judged.textContent = verdict?.text ?? "";
    this.judged.classList.toggle("true", verdict?.true ?? false);
    this.current?.removeAttribute("aria-current");
    this.current = this.entries[position - 1] ?? null;
    this.current?.setAttribute("aria-current", "step");
    this.showThought(position);
    window.clearTimeout(this.settling);
    this.settling = window.setTimeout(() => this.settle(position), SETTLED);
  }

  /** What need not keep pace with the scrubber. */
  private settle(position: number): void {
    if (this.current) {
      const [list, entry] = [this.list.getBoundingClientRect(), this.current.getBoundingClientRect()];
      this.list.scrollTop += entry.top - list.top - (list.height - entry.height) / 2;
    }
    if (this.source.link) history.replaceState(null, "", `${this.source.link}/${position}`);
  }

  private showThought(position: number): void {
    const thought = this.game.analyses.get(position) ?? this.game.steps[position]?.thought;
    this.thought.replaceChildren(...(thought ? [thoughtView(thought, this.about)] : []));
  }

  // -- analysing

  /** The game as requests name it: by its id where the server keeps it. */
  private get wished(): string | object {
    return this.source.kept ?? (JSON.parse(this.source.file!) as object);
  }

  private async analyse(whole: boolean): Promise<void> {
    const decision = this.game.decision(this.scrubber.position);
    this.fault.textContent = whole || decision ? "" : "The game is over here: go back a step.";
    if (!whole && !decision) return;
    this.thinking.textContent = "Thinking…";
    const which = whole ? {} : { turn: decision!.turn, player: decision!.player };
    const wish = {
      game: this.wished,
      ...which,
      strength: { seconds: Number(this.seconds.value) },
    };
    try {
      for await (const analysis of postForLines<Analysis>("/api/analyse", JSON.stringify(wish), this.abort.signal)) {
        const position = this.game.addAnalysis(analysis);
        if (whole) this.thinking.textContent = `Thinking… ${this.game.analyses.size} of ${this.game.end} steps`;
        if (position === this.scrubber.position) this.scrubber.go(position);
        this.redrawSoon();
      }
      say("The analysis is done.");
    } catch (error) {
      if (!this.destroyed) this.fault.textContent = error instanceof Refused ? error.message : String(error);
    }
    this.thinking.textContent = "";
  }

  // -- playing on

  /** A game from this step on, against the opponent chosen last; after a mistake, from before it. */
  private async retry(): Promise<void> {
    const at = this.scrubber.position;
    const step = this.game.verdict(at) ? at - 1 : at;
    this.unable.textContent = "";
    if (!this.game.steps[step]) {
      this.unable.textContent = "The game is over here: go back a step.";
      return;
    }
    const bots = this.about!.players;
    const opponent = bots.find(({ name }) => name === settings().opponent) ?? bots[0];
    const wish = { game: this.wished, step, opponent: { player: opponent?.name } };
    try {
      go(`#/play/${(await post<{ game: string }>("/api/retry", wish)).game}`);
    } catch (error) {
      if (!this.destroyed) this.unable.textContent = `${(error as Error).message}.`;
    }
  }

  // -- sharing

  private async copy(text: string, done: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.sentence.textContent = done;
    } catch {
      this.sentence.textContent = text; // to be copied by hand
    }
  }

  private async picture(): Promise<void> {
    download(`penumbra-${this.scrubber.position}.png`, await boardPicture(this.boards.truth.svg));
  }
}
