// Practice: puzzles made from real games. The board as a player knew it, a question, and the verdict with its reason.

import { alertUser, say } from "./announce";
import { Board } from "./board/board";
import type { Arrow } from "./board/layers";
import { beliefOf } from "./board/shares";
import { choice, labelled, make, select } from "./elements";
import { type Page, go, isTyping } from "./page";
import { type Grade, type ListedPuzzle, Progress } from "./practice_progress";
import "./practice.css";
import type { GameEvent, Shares } from "./protocol";
import { get, post } from "./server";
import { type Color, type Pieces, type Square, opponent, pieceName, piecesOfFen, senseWindow } from "./squares";
import { count, notice, percent } from "./words";

interface Shown {
  seen: Record<Square, string | null>;
  states: string[];
  pieces: Shares;
  moves: string[];
}

interface Puzzle {
  id: string;
  kind: string;
  grade: Grade;
  question: string;
  color: Color;
  turn: number;
  phase: "sense" | "move";
  own: Pieces;
  states: string[];
  pieces: Shares;
  moves: string[];
  remembered: GameEvent[];
}

interface Verdict {
  right: boolean;
  reason: string;
  shown: Shown | null;
  solutions: string[];
}

const DARKEST = 0.45;
const KINDS: [value: string, text: string][] = [
  ["", "All questions"],
  ["take", "Take the king"],
  ["sense", "Sense, then take the king"],
  ["queen", "Find the queen"],
  ["king", "Find the king"],
  ["save", "Save your king"],
];
const GRADES: [value: Grade | "", text: string][] = [
  ["", "All"],
  ["easy", "Easy"],
  ["medium", "Medium"],
  ["hard", "Hard"],
];

/** `id` is a puzzle's; without one, the next that was not solved is asked. */
export function practice(id: string): Page {
  return new PracticePage(id);
}

class PracticePage implements Page {
  readonly element = make("div", { class: "table practice" });
  private readonly banner = make("p", { class: "banner" });
  private readonly memory = make("ul", { class: "memory" });
  private readonly verdict = make("div", { class: "verdict", hidden: true });
  private readonly fault = make("p", { class: "fault", role: "alert" });
  private readonly score = make("p", { class: "score" });
  private readonly states = make("p", { class: "states" });
  private readonly pass = make("button", { type: "button", onclick: () => this.answer("pass") }, "Pass");
  private readonly next = make(
    "button",
    { type: "button", class: "primary", onclick: () => this.goOn() },
    "Next puzzle",
  );
  private readonly browser = make("div", { class: "actions browser" });
  private readonly progress = new Progress();
  private all: ListedPuzzle[] = [];
  private board: Board | null = null;
  private puzzle: Puzzle | null = null;
  private phase: "sense" | "move" | "over" = "sense";
  private sensed: Square | null = null; // the first half of the answer
  private shown: Shown | null = null; // what it showed
  private solutions: string[] = [];
  private pointed: Square | null = null;
  private tapped: Square | null = null; // by touch: a second tap senses
  private selected: Square | null = null;
  private looked: number | null = null; // at which state alone
  private busy = false;
  private destroyed = false;

  constructor(private readonly wanted: string) {
    this.element.append(make("p", { class: "loading" }, "Looking for a puzzle…"));
    document.addEventListener("keydown", this.key);
    void this.load();
  }

  destroy(): void {
    this.destroyed = true;
    this.board?.destroy();
    document.removeEventListener("keydown", this.key);
  }

  // -- asking

  private async load(): Promise<void> {
    try {
      this.all = await get<ListedPuzzle[]>("/api/puzzles");
      const id = this.wanted || this.progress.next(this.all)?.id;
      if (!id) throw new Error("there is no puzzle of this kind");
      const puzzle = await get<Puzzle>(`/api/puzzles/${encodeURIComponent(id)}`);
      if (!this.destroyed) this.build(puzzle);
    } catch (error) {
      if (this.destroyed) return;
      const words = `${(error as Error).message}.`;
      this.element.replaceChildren(
        make(
          "div",
          { class: "card narrow" },
          make("h1", {}, "No puzzle"),
          make("p", { class: "fault" }, words),
          this.filters(),
          make("button", { type: "button", class: "primary", onclick: () => this.goOn() }, "Another puzzle"),
        ),
      );
      alertUser(words);
    }
  }

  private build(puzzle: Puzzle): void {
    this.puzzle = puzzle;
    this.phase = puzzle.phase;
    const holder = make("div", { class: "board-column" });
    const bar = (side: string, color: Color, ...words: (Node | string)[]) =>
      make("div", { class: `player-bar ${side}` }, make("span", { class: `disc ${color}` }), ...words);
    this.board = new Board(holder, "Board", puzzle.color, {
      choose: (square, by) => this.choose(square, by),
      point: (square) => {
        this.pointed = square;
        this.drawLight();
      },
      canDrag: (square) => this.phase === "move" && !this.busy && this.targets(square).length > 0,
      drag: (square) => this.pick(square),
      drop: (from, to) => (to && to !== from ? this.tryMove(from, to) : this.pick(null)),
      cancel: () => this.pick(null),
      describe: (square) => this.describe(square),
    });
    this.recall(puzzle);
    this.element.replaceChildren(
      bar("them", opponent(puzzle.color), make("strong", {}, "Opponent"), this.states),
      holder,
      bar("you", puzzle.color, make("strong", {}, "You"), make("small", {}, `turn ${puzzle.turn}`)),
      make(
        "div",
        { class: "side" },
        make("h1", {}, "Practice"),
        this.banner,
        this.fault,
        this.verdict,
        make("div", { class: "actions" }, this.pass, this.next),
        make("h2", {}, "What you know"),
        this.memory,
        this.browser,
        this.filters(),
        this.score,
      ),
    );
    this.draw();
    say(puzzle.question);
  }

  /** What the player was told last; a piece that moved is found where it stands now, or was lost since. */
  private recall(puzzle: Puzzle): void {
    const events = puzzle.remembered.slice(puzzle.remembered[0]?.type === "moved" ? 1 : 0);
    const lost = Object.fromEntries(
      events.flatMap((event) => (event.type === "turn" && event.capture ? [[event.capture, event.lost ?? ""]] : [])),
    ) as Pieces;
    const standing = { ...lost, ...puzzle.own };
    for (const event of events) {
      const before: Record<Square, string> = {};
      if (event.type === "moved" && event.requested) {
        const from = event.requested.slice(0, 2);
        before[from] = standing[(event.taken ?? event.requested).slice(event.taken ? 2 : 0, event.taken ? 4 : 2)] ?? "";
      }
      this.memory.append(make("li", {}, notice({ ...event, own: puzzle.own }, before, false)));
    }
  }

  private filters(): HTMLElement {
    const grades = choice<Grade | "">("Grade", GRADES, this.progress.grade, (grade) => {
      this.progress.grade = grade;
      this.another();
    });
    const kinds = select(KINDS, this.progress.kind);
    kinds.setAttribute("aria-label", "Question");
    kinds.addEventListener("change", () => {
      this.progress.kind = kinds.value;
      this.another();
    });
    return make("div", { class: "filters" }, labelled("Grade", grades), labelled("Question", kinds));
  }

  /** After the filter has changed: a puzzle that fits it, unless this one does or is being looked at. */
  private another(): void {
    const fits = this.puzzle && this.progress.fits(this.puzzle);
    if (!fits) this.goOn();
  }

  private goOn(): void {
    const next = this.progress.next(this.all, this.puzzle?.id);
    if (next) go(`#/practice/${next.id}`);
    else this.fault.textContent = "There is no puzzle of this kind.";
  }

  // -- answering

  private targets(from: Square): Square[] {
    const moves = this.shown?.moves ?? this.puzzle?.moves ?? [];
    return [...new Set(moves.filter((move) => move.startsWith(from)).map((move) => move.slice(2, 4)))];
  }

  private choose(square: Square, by: "mouse" | "touch" | "key"): void {
    if (this.busy || this.phase === "over") return;
    if (this.phase === "sense") {
      if (by === "touch" && this.tapped !== square) {
        this.tapped = this.pointed = square;
        this.draw();
      } else void this.answer(square);
    } else if (this.selected && this.targets(this.selected).includes(square)) this.tryMove(this.selected, square);
    else this.pick(this.targets(square).length && square !== this.selected ? square : null);
  }

  private pick(square: Square | null): void {
    this.selected = square;
    if (square) say(`${square}: ${count(this.targets(square).length, "square")} to move to`);
    this.draw();
  }

  private tryMove(from: Square, to: Square): void {
    const listed = this.targets(from).includes(to);
    this.pick(null);
    if (listed) void this.answer(from + to);
  }

  /** A square, or a move after what was sensed. */
  private async answer(word: string): Promise<void> {
    const { puzzle } = this;
    if (!puzzle || this.busy || this.phase === "over") return;
    const said = this.phase === "sense" ? { square: word } : { square: this.sensed, move: word };
    this.busy = true;
    this.looked = null;
    this.fault.textContent = "";
    try {
      const verdict = await post<Verdict>(`/api/puzzles/${puzzle.id}`, said);
      if (this.destroyed) return;
      if (this.phase === "sense") this.sensed = word;
      this.hear(verdict, word);
    } catch (error) {
      this.fault.textContent = `${(error as Error).message}.`;
    }
    this.busy = false;
    this.draw();
  }

  private hear(verdict: Verdict, word: string): void {
    const { shown, right, reason, solutions } = verdict;
    const title = shown ? "Right so far" : right ? "Right" : "Not this time";
    const best = solutions.length && !right ? `Best: ${solutions.map((each) => this.words(each)).join(", ")}.` : "";
    const parts = [title, `You chose ${this.words(word)}.`, reason, best].filter(Boolean);
    this.verdict.className = `verdict ${right ? "right" : "wrong"}`;
    this.verdict.replaceChildren(
      make("strong", {}, title),
      make("p", {}, reason),
      ...(best ? [make("p", { class: "best" }, best)] : []),
    );
    this.verdict.hidden = false;
    this.tapped = null;
    if (shown) {
      this.shown = shown;
      this.phase = "move";
    } else {
      this.phase = "over";
      this.solutions = solutions;
      this.progress.judge(this.puzzle!.id, right);
      this.next.focus({ preventScroll: true });
    }
    say(parts.join(" "));
  }

  private words(answer: string): string {
    if (answer === "pass") return "a pass";
    return answer.length === 2 ? answer : `${answer.slice(0, 2)}–${answer.slice(2)}`;
  }

  private readonly key = (event: KeyboardEvent): void => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "p" && this.phase === "move") void this.answer("pass");
    else if (event.key === "n" && this.phase === "over") this.goOn();
  };

  // -- drawing

  private draw(): void {
    const { board, puzzle } = this;
    if (!board || !puzzle) return;
    this.element.dataset["phase"] = this.phase;
    const { states, pieces } = this.shown ?? puzzle;
    const alone = this.looked === null ? null : states[this.looked]!;
    board.setPieces(alone ? piecesOfFen(alone) : puzzle.own);
    board.setBelief(alone ? { heat: {}, ghosts: [] } : beliefOf(pieces, opponent(puzzle.color), "ghosts"));
    board.setArrows(this.arrows());
    this.drawLight();
    board.describe();
    this.banner.textContent = this.instruction(puzzle);
    this.banner.className = `banner ${this.phase}`;
    this.pass.hidden = this.phase !== "move";
    this.next.textContent = this.phase === "over" ? "Next puzzle" : "Skip";
    this.next.classList.toggle("primary", this.phase === "over");
    this.states.textContent = `${count(states.length, "position")} possible`;
    this.score.textContent = this.progress.line(this.all);
    this.drawBrowser(states.length);
  }

  private drawLight(): void {
    const { board, puzzle } = this;
    if (!board || !puzzle) return;
    const preview = this.phase === "sense" && !this.busy ? (this.tapped ?? this.pointed) : null;
    const last = puzzle.remembered.at(-1);
    const remembered = last?.type === "sensed" ? last.square : null;
    const right = this.phase === "over" && this.solutions[0]?.length === 2 ? this.solutions[0] : null;
    const square = preview ?? right ?? this.sensed ?? remembered;
    board.setLight({
      fog: this.looked === null ? this.fog() : {},
      window: square ? senseWindow(square) : [],
      windowKind: preview ? "preview" : "sensed",
      marks: {
        capture: puzzle.remembered.flatMap((event) => (event.type === "turn" && event.capture ? [event.capture] : [])),
        selected: this.selected ? [this.selected] : [],
        target: this.selected ? this.targets(this.selected) : right ? this.solutions : [],
      },
    });
  }

  /** The darker, the less certain whether something stands there. */
  private fog(): Record<Square, number> {
    const { pieces } = this.shown ?? this.puzzle!;
    return Object.fromEntries(
      Object.entries(pieces).map(([square, kinds]) => {
        const most = Math.max(...Object.values(kinds));
        return [square, DARKEST * Math.min(1, 2 * Math.min(most, 1 - most))];
      }),
    );
  }

  private arrows(): Arrow[] {
    return this.solutions
      .filter((move) => move.length >= 4 && move !== "pass")
      .map((move) => ({ from: move.slice(0, 2), to: move.slice(2, 4), strength: 1, kind: "policy" }));
  }

  private drawBrowser(most: number): void {
    const at = this.looked;
    const look = (by: number) => {
      this.looked = ((at ?? (by > 0 ? -1 : 0)) + by + most) % most;
      this.draw();
    };
    const button = (text: string, label: string, act: () => void) =>
      make("button", { type: "button", class: "quiet", "aria-label": label, onclick: act }, text);
    this.browser.replaceChildren(
      button("◀", "Previous position", () => look(-1)),
      make("span", { role: "status" }, at === null ? "All at once" : `${at + 1} of ${most}`),
      button("▶", "Next position", () => look(1)),
      button("All", "All positions at once", () => {
        this.looked = null;
        this.draw();
      }),
    );
  }

  private instruction(puzzle: Puzzle): string {
    if (this.phase === "over") return puzzle.question;
    if (this.phase === "sense")
      return this.tapped ? `Tap ${this.tapped} again to sense there` : `${puzzle.question} Choose a square.`;
    return this.shown ? "Now the move that takes the king." : puzzle.question;
  }

  private describe(square: Square): string {
    const puzzle = this.puzzle!;
    const own = puzzle.own[square];
    if (this.looked !== null) {
      const piece = piecesOfFen((this.shown ?? puzzle).states[this.looked]!)[square];
      return piece ? pieceName(piece) : "empty";
    }
    if (own) return pieceName(own);
    const kinds = Object.entries((this.shown ?? puzzle).pieces[square] ?? {});
    if (!kinds.length) return "empty";
    const them = opponent(puzzle.color);
    return kinds
      .map(([kind, share]) => `${pieceName(them === "white" ? kind : kind.toLowerCase())} in ${percent(share)}`)
      .join(", ");
  }
}
