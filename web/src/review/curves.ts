// Two curves over a game: how many states each side holds possible, and White's chance to win.

import { make, makeSvg } from "../elements";
import { count, percent } from "../words";
import type { GameModel } from "./game_model";

const WIDTH = 1000;
const HEIGHT = 120;
const MARGIN = 4;

export class Curves {
  readonly element: HTMLElement;
  private readonly sizes = makeSvg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
  });
  private readonly values = makeSvg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
  });
  private readonly valueFigure: HTMLElement;
  private readonly sizeText = make("span");
  private readonly valueText = make("span");
  private cursors: SVGLineElement[] = [];
  private total = 1;

  constructor(seek: (position: number) => void) {
    const legend = make(
      "span",
      { class: "legend" },
      make("i", { class: "white-line" }),
      "White ",
      make("i", { class: "black-line" }),
      "Black",
    );
    const sizes = make(
      "figure",
      { class: "curve" },
      make("figcaption", {}, "Positions held possible ", legend, this.sizeText),
      this.sizes,
    );
    this.valueFigure = make(
      "figure",
      { class: "curve", hidden: true },
      make("figcaption", {}, "White's chance to win ", this.valueText),
      this.values,
    );
    this.element = make("div", { class: "curves" }, sizes, this.valueFigure);
    this.sizes.setAttribute("aria-label", "Positions held possible");
    this.values.setAttribute("aria-label", "White's chance to win");
    for (const svg of [this.sizes, this.values]) {
      const follow = (event: PointerEvent) => {
        if (event.type === "pointermove" && !event.buttons) return;
        const { left, width } = svg.getBoundingClientRect();
        seek(Math.round(((event.clientX - left) / width) * this.total));
      };
      svg.addEventListener("pointerdown", follow);
      svg.addEventListener("pointermove", follow);
    }
  }

  /** Draws the curves again; `total` is the last position there will be. */
  draw(game: GameModel, total: number): void {
    this.total = Math.max(1, total);
    const x = (position: number) => (WIDTH * position) / this.total;
    const most = Math.max(10, ...game.sets.flatMap(({ white, black }) => [white?.states ?? 1, black?.states ?? 1]));
    const y = (states: number) => HEIGHT - MARGIN - ((HEIGHT - 2 * MARGIN) * Math.log(states)) / Math.log(most);
    const line = (points: string[], name: string) => makeSvg("polyline", { points: points.join(" "), class: name });
    const sizeLine = (color: "white" | "black") =>
      line(
        game.sets.map((sets, i) => `${x(i)},${y(Math.max(1, sets[color]?.states ?? 1))}`),
        `${color}-line`,
      );
    this.sizes.setAttribute("aria-label", `Positions each side holds possible, at most ${count(most, "position")}`);
    const valued = game.steps.map((_, i) => [i, game.value(i)] as const).filter(([, value]) => value !== null);
    const valuePoints = valued.map(([i, value]) => `${x(i)},${MARGIN + (HEIGHT - 2 * MARGIN) * (1 - value!)}`);
    this.valueFigure.hidden = !valued.length;
    const middle = makeSvg("line", { x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2, class: "middle" });
    this.cursors = [cursor(), cursor()];
    this.sizes.replaceChildren(sizeLine("white"), sizeLine("black"), this.cursors[0]!);
    this.values.replaceChildren(middle, line(valuePoints, "value-line"), this.cursors[1]!);
  }

  mark(game: GameModel, position: number): void {
    const at = String((WIDTH * position) / this.total);
    for (const line of this.cursors) {
      line.setAttribute("x1", at);
      line.setAttribute("x2", at);
    }
    const { white, black } = game.sets[position] ?? {};
    const text = (states: number | undefined) => (states ?? 1).toLocaleString("en");
    this.sizeText.textContent = `${text(white?.states)} / ${text(black?.states)}`;
    this.valueText.textContent = percent(game.value(position));
  }
}

const cursor = (): SVGLineElement => makeSvg("line", { y1: 0, y2: HEIGHT, class: "cursor" });
