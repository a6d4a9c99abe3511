// How practice goes in this browser: what was solved, the streak, and what is asked for.

export type Grade = "easy" | "medium" | "hard";

export interface ListedPuzzle {
  id: string;
  kind: string;
  grade: Grade;
}

interface Kept {
  solved: string[];
  failed: string[];
  streak: number;
  best: number;
  grade: Grade | "";
  kind: string;
}

const KEY = "penumbra.practice";
const NOTHING: Kept = { solved: [], failed: [], streak: 0, best: 0, grade: "", kind: "" };

export class Progress {
  private kept: Kept;

  constructor() {
    try {
      this.kept = { ...NOTHING, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Kept>) };
    } catch {
      this.kept = { ...NOTHING };
    }
  }

  get grade(): Grade | "" {
    return this.kept.grade;
  }

  set grade(grade: Grade | "") {
    this.keep({ grade });
  }

  get kind(): string {
    return this.kept.kind;
  }

  set kind(kind: string) {
    this.keep({ kind });
  }

  fits({ grade, kind }: Pick<ListedPuzzle, "grade" | "kind">): boolean {
    return (!this.grade || grade === this.grade) && (!this.kind || kind === this.kind);
  }

  /** The first after `id` that fits and was not solved; if all were, the next that fits. */
  next(all: ListedPuzzle[], id = ""): ListedPuzzle | undefined {
    const start = all.findIndex((puzzle) => puzzle.id === id) + 1;
    const others = [...all.slice(start), ...all.slice(0, start)].filter((puzzle) => this.fits(puzzle));
    return others.find((puzzle) => puzzle.id !== id && !this.kept.solved.includes(puzzle.id)) ?? others[0];
  }

  /** The first answer to a puzzle counts for the streak; one that was failed can still be solved. */
  judge(id: string, right: boolean): void {
    const { solved, failed } = this.kept;
    const streak = right ? this.kept.streak + 1 : 0;
    if (!solved.includes(id) && !failed.includes(id)) this.keep({ streak, best: Math.max(streak, this.kept.best) });
    if (right && !solved.includes(id)) this.keep({ solved: [...solved, id] });
    if (!right && !failed.includes(id)) this.keep({ failed: [...failed, id] });
  }

  line(all: ListedPuzzle[]): string {
    const fitting = all.filter((puzzle) => this.fits(puzzle));
    const solved = fitting.filter((puzzle) => this.kept.solved.includes(puzzle.id)).length;
    return `Streak ${this.kept.streak}, best ${this.kept.best}; ${solved} of ${fitting.length} solved`;
  }

  private keep(changed: Partial<Kept>): void {
    this.kept = { ...this.kept, ...changed };
    try {
      localStorage.setItem(KEY, JSON.stringify(this.kept));
    } catch {
      // practice goes on without a memory
    }
  }
}
