// The tutorial: lessons that are played on the real board and judged by the server's rules.

import { alertUser, say } from "../announce";
import { make } from "../elements";
import { type Page, go } from "../page";
import { type Action, Table } from "../play/table";
import type { GameEvent, PlayState } from "../protocol";
import { Refused, get, post } from "../server";
import { remember, settings } from "../settings";
import type { Color, Pieces } from "../squares";

interface Listed {
  title: string;
  about: string;
  tasks: number;
}

interface Told {
  task: number;
  tasks: number;
  text: string;
  color: Color;
  start: Pieces;
  known: Pieces; // seen `age` turns ago
  age: number;
  events: GameEvent[];
  state: PlayState;
  right: boolean | null;
  said: string | null;
  say: string | null;
  done: boolean;
}

const NEVER = 20; // turns ago: as good as never seen

export function learn(lesson: string, task: string): Page {
  return lesson ? new LessonPage(Number(lesson), Number(task) || 1) : overview();
}

function overview(): Page {
  const list = make("ol", { class: "plain lessons" });
  const element = make(
    "div",
    { class: "narrow" },
    make("h1", {}, "Learn"),
    make(
      "p",
      { class: "lead" },
      "Five short lessons on the board: what is different from chess, and how to live with it.",
    ),
    list,
    make("p", {}, make("a", { href: "#/play" }, "Or begin a game.")),
  );
  get<Listed[]>("/api/lessons").then(
    (lessons) =>
      list.append(
        ...lessons.map(({ title, about }, i) =>
          make(
            "li",
            { class: "card" },
            make("a", { href: `#/learn/${i + 1}` }, `${i + 1}. ${title}`),
            make("span", {}, about),
            settings().learned.includes(String(i + 1)) && make("small", {}, "✓ played"),
          ),
        ),
      ),
    (error: Error) => alertUser(error.message),
  );
  return { element, destroy: () => undefined };
}

class LessonPage implements Page {
  readonly element = make("div", { class: "table lesson" });
  private readonly progress = make("small", {});
  private readonly banner = make("p", { class: "banner" });
  private readonly text = make("p", { class: "lesson-text" });
  private readonly said = make("p", { class: "said", role: "status" });
  private readonly next = make("button", { type: "button", class: "primary", onclick: () => this.goOn() }, "Go on");
  private readonly again = make("button", { type: "button", onclick: () => this.restart() }, "Start this again");
  private readonly holder = make("div", { class: "board-column" });
  private readonly actions: object[] = [];
  private lessons: Listed[] = [];
  private table: Table | null = null;
  private told: Told | null = null;

  constructor(
    private readonly lesson: number,
    private task: number,
  ) {
    this.next.hidden = true;
    const title = make("strong", {}, `Lesson ${lesson}`);
    this.element.append(
      make("div", { class: "player-bar them" }, title, this.progress),
      this.holder,
      make("div", { class: "player-bar you" }, make("span", { class: "disc white" }), make("strong", {}, "You")),
      make(
        "div",
        { class: "side" },
        this.text,
        this.banner,
        this.said,
        make("div", { class: "actions" }, this.next, this.again),
        make("a", { class: "leave", href: "#/learn" }, "All lessons"),
      ),
    );
    void this.begin(title);
  }

  destroy(): void {
    this.table?.destroy();
  }

  private async begin(title: HTMLElement): Promise<void> {
    try {
      this.lessons = await get<Listed[]>("/api/lessons");
      title.textContent = `Lesson ${this.lesson}: ${this.lessons[this.lesson - 1]?.title ?? ""}`;
      await this.restart();
    } catch (error) {
      this.fail(error);
    }
  }

  private async restart(): Promise<void> {
    this.actions.length = 0;
    this.table?.destroy();
    this.table = null;
    await this.ask();
  }

  private act(action: Action): boolean {
    this.actions.push({ ...action, step: this.actions.length });
    void this.ask();
    return true;
  }

  /** Sends all that was done in the task, and shows what came of it. */
  private async ask(): Promise<void> {
    try {
      const body = { task: this.task - 1, actions: this.actions };
      this.show(await post<Told>(`/api/lessons/${this.lesson}`, body));
    } catch (error) {
      this.actions.pop();
      this.table?.refused();
      this.fail(error);
    }
  }

  private show(told: Told): void {
    this.told = told;
    if (told.right === false) this.actions.pop();
    if (!this.table) {
      const pieces = { ...told.start, ...told.known };
      const events = { act: (action: Action) => this.act(action), changed: () => undefined };
      const seen = 1 - (told.age || NEVER);
      this.table = new Table(this.holder, told.color, pieces, events, { seen });
    }
    this.table.begin(told.events, told.state);
    this.element.dataset["phase"] = told.state.phase;
    this.progress.textContent = ` ${told.task + 1} of ${told.tasks}`;
    this.text.textContent = told.text;
    this.banner.textContent = told.say ?? "Done.";
    this.banner.className = `banner ${told.state.phase}`;
    this.said.textContent = told.said ?? "";
    this.said.className = `said ${told.right === false ? "wrong" : "right"}`;
    this.next.hidden = !told.done;
    this.again.hidden = told.done || !this.actions.length;
    if (told.done) {
      this.next.textContent = this.isLast ? "Play a game" : "Go on";
      this.next.focus();
      if (told.task + 1 === told.tasks) this.passed();
    } else if (told.right === null) say(`${told.text} ${told.say ?? ""}`);
  }

  private get isLast(): boolean {
    return this.lesson === this.lessons.length && this.told?.task === (this.told?.tasks ?? 0) - 1;
  }

  private passed(): void {
    remember({ learned: [...new Set([...settings().learned, String(this.lesson)])] });
  }

  private goOn(): void {
    if (this.isLast) go("#/play");
    else if (this.told && this.told.task + 1 < this.told.tasks) go(`#/learn/${this.lesson}/${this.task + 1}`);
    else go(`#/learn/${this.lesson + 1}`);
  }

  private fail(error: unknown): void {
    this.said.textContent = error instanceof Refused ? `${error.message}.` : String(error);
    this.said.className = "said wrong";
  }
}
