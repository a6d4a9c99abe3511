// Our own layers on cm-chessboard, as its extensions: what is seen and what is in the dark, what is believed, arrows.

import type { Chessboard } from "cm-chessboard/src/Chessboard.js";
import { EXTENSION_POINT, Extension } from "cm-chessboard/src/model/Extension.js";
import { makeSvg } from "../elements";
import type { Square } from "../squares";
import { spriteId } from "./pieces";

/** A layer keeps what it shows, and draws it again whenever the board is drawn. */
abstract class Layer<T> extends Extension {
  protected readonly group: SVGGElement;

  constructor(
    chessboard: Chessboard,
    parent: SVGGElement,
    name: string,
    protected content: T,
  ) {
    super(chessboard);
    this.group = makeSvg("g", { class: name });
    parent.append(this.group);
    this.registerExtensionPoint(EXTENSION_POINT.afterRedrawBoard, () => this.redraw());
  }

  show(content: T): void {
    if (content === this.content) return;
    this.content = content;
    this.redraw();
  }

  protected abstract draw(content: T): SVGElement[];

  private redraw(): void {
    this.group.replaceChildren(...this.draw(this.content));
  }

  /** Left, top and size of a square, inset by a share of its size. */
  protected box(square: Square, inset = 0): { x: number; y: number; width: number; height: number } {
    const { x, y } = this.chessboard.view.squareToPoint(square);
    const size = this.chessboard.view.squareWidth;
    const side = size * (1 - 2 * inset);
    return { x: x + size * inset, y: y + size * inset, width: side, height: side };
  }

  protected center(square: Square): { x: number; y: number } {
    const { x, y, width } = this.box(square);
    return { x: x + width / 2, y: y + width / 2 };
  }

  protected get unit(): number {
    return this.chessboard.view.squareWidth;
  }
}

export interface Light {
  fog: Record<Square, number>; // 0: in full light, to 1: never seen
  window: Square[]; // around which a frame is drawn
  windowKind: "preview" | "sensed";
  marks: Partial<Record<"last" | "capture" | "selected" | "target", Square[]>>;
}

export const NO_LIGHT: Light = { fog: {}, window: [], windowKind: "sensed", marks: {} };

/** What has been seen, and how long ago: the longer, the darker. With the window of a sense, and marks. */
export class SenseLayer extends Layer<Light> {
  constructor(chessboard: Chessboard) {
    super(chessboard, chessboard.view.markersLayer, "sense-layer", NO_LIGHT);
  }

  protected draw({ fog, window, windowKind, marks }: Light): SVGElement[] {
    const drawn: SVGElement[] = Object.entries(fog)
      .filter(([, depth]) => depth > 0)
      .map(([square, depth]) => makeSvg("rect", { class: "fog", "fill-opacity": depth, ...this.box(square) }));
    for (const kind of ["last", "capture", "selected"] as const) {
      for (const square of marks[kind] ?? [])
        drawn.push(makeSvg("rect", { class: `mark ${kind}`, ...this.box(square) }));
    }
    for (const square of marks.target ?? []) {
      const { x, y } = this.center(square);
      drawn.push(makeSvg("circle", { class: "mark target", cx: x, cy: y, r: this.unit * 0.14 }));
    }
    if (window.length) drawn.push(this.frame(window, windowKind));
    return drawn;
  }

  private frame(window: Square[], kind: string): SVGElement {
    const boxes = window.map((square) => this.box(square));
    const x = Math.min(...boxes.map((box) => box.x));
    const y = Math.min(...boxes.map((box) => box.y));
    const right = Math.max(...boxes.map((box) => box.x + box.width));
    const bottom = Math.max(...boxes.map((box) => box.y + box.height));
    const edge = this.unit * 0.03;
    return makeSvg("rect", {
      class: `window ${kind}`,
      x: x + edge,
      y: y + edge,
      width: right - x - 2 * edge,
      height: bottom - y - 2 * edge,
      rx: this.unit * 0.12,
      "stroke-width": 2 * edge,
    });
  }
}

export interface Ghost {
  square: Square;
  piece: string; // a letter as in a FEN, or "?"
  strength: number; // 0 to 1
  label?: string; // in the corner
  kind: "seen" | "belief" | "note";
}

export interface Belief {
  heat: Record<Square, number>; // 0 to 1
  ghosts: Ghost[];
}

export const NO_BELIEF: Belief = { heat: {}, ghosts: [] };
const LARGEST_HEAT = 0.86; // of a square's side
const FAINTEST = 0.18; // a ghost is never paler than this

/** Where pieces are thought to be: heat under the squares, and ghosts of pieces. */
export class BeliefLayer extends Layer<Belief> {
  constructor(chessboard: Chessboard) {
    super(chessboard, chessboard.view.markersLayer, "belief-layer", NO_BELIEF);
  }

  protected draw({ heat, ghosts }: Belief): SVGElement[] {
    return [
      ...Object.entries(heat).map(([square, share]) => this.warmth(square, share)),
      ...ghosts.flatMap((ghost) => this.ghost(ghost)),
    ];
  }

  /** Heat is told by area as well as by colour, so that it does not depend on seeing colours. */
  private warmth(square: Square, share: number): SVGElement {
    const side = LARGEST_HEAT * Math.sqrt(Math.min(1, Math.max(share, 0.01)));
    const box = this.box(square, 0.5 * (1 - side));
    return makeSvg("rect", { class: "heat", "fill-opacity": 0.35 + 0.25 * share, rx: 0.15 * box.width, ...box });
  }

  private ghost({ square, piece, strength, label, kind }: Ghost): SVGElement[] {
    const { x, y } = this.box(square);
    const scale = this.chessboard.view.scalingY;
    const opacity = FAINTEST + (1 - FAINTEST) * strength;
    const drawn: SVGElement[] = [];
    if (piece === "?") {
      const at = this.center(square);
      drawn.push(makeSvg("text", { class: "unknown", x: at.x, y: at.y, "font-size": this.unit * 0.6 }, "?"));
    } else {
      const use = makeSvg("use", { href: `#${spriteId(piece)}`, transform: `translate(${x} ${y}) scale(${scale})` });
      drawn.push(makeSvg("g", { class: `ghost ${kind}`, opacity }, use));
    }
    if (kind === "note") drawn.push(makeSvg("rect", { class: "note", rx: 3, ...this.box(square, 0.06) }));
    if (label) {
      const corner = { x: x + this.unit * 0.95, y: y + this.unit * 0.22, "font-size": this.unit * 0.2 };
      drawn.push(makeSvg("text", { class: "label", ...corner }, label));
    }
    return drawn;
  }
}

export interface Arrow {
  from: Square;
  to: Square;
  strength: number; // 0 to 1
  kind: "policy" | "played" | "better";
}

/** Moves as arrows, the likelier the thicker. */
export class ArrowLayer extends Layer<Arrow[]> {
  constructor(chessboard: Chessboard) {
    super(chessboard, chessboard.view.markersTopLayer, "arrow-layer", []);
  }

  protected draw(arrows: Arrow[]): SVGElement[] {
    return arrows.map(({ from, to, strength, kind }) => {
      const a = this.center(from);
      const b = this.center(to);
      const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
      const along = { x: (b.x - a.x) / length, y: (b.y - a.y) / length };
      const half = this.unit * (0.025 + 0.075 * strength);
      const head = Math.max(3 * half, this.unit * 0.14);
      const neck = { x: b.x - along.x * 1.5 * head, y: b.y - along.y * 1.5 * head };
      const side = { x: -along.y, y: along.x };
      const at = (p: { x: number; y: number }, width: number) => `${p.x + side.x * width},${p.y + side.y * width}`;
      const points = [at(a, half), at(neck, half), at(neck, head), `${b.x},${b.y}`, at(neck, -head), at(neck, -half)];
      points.push(at(a, -half));
      return makeSvg("polygon", {
        class: `arrow ${kind}`,
        points: points.join(" "),
        opacity: 0.35 + 0.55 * strength,
      });
    });
  }
}
