// A board: cm-chessboard's pieces with our layers, under a grid of cells that mouse, touch, keyboard and screen
// readers all use alike.

import { Chessboard } from "cm-chessboard/src/Chessboard.js";
import { make } from "../elements";
import { type Color, FILES, type Pieces, type Square, opponent, pieceName, placementOf, squareAt } from "../squares";
import { type Arrow, ArrowLayer, type Belief, BeliefLayer, type Light, NO_LIGHT, SenseLayer } from "./layers";
import { loadPieces, pieceIcon } from "./pieces";

export interface BoardInput {
  /** A cell was chosen by click, tap or key. */
  choose?(square: Square, by: "mouse" | "touch" | "key"): void;
  /** The pointer or the focus is on a cell, or on none. */
  point?(square: Square | null): void;
  /** Whether the piece on a cell can be dragged. */
  canDrag?(square: Square): boolean;
  drag?(square: Square): void;
  /** What is dragged from a cell; otherwise the piece on it. */
  pieceOn?(square: Square): string | undefined;
  drop?(from: Square, to: Square | null): void;
  /** Escape was pressed. */
  cancel?(): void;
  /** What a screen reader says of a cell; otherwise the piece on it. */
  describe?(square: Square): string;
}

const DRAG_AFTER = 5; // pixels
const MOVE_MS = 180;

export class Board {
  /** The board with its coordinates beside it. */
  readonly element: HTMLElement;
  private readonly board: HTMLElement;
  private readonly holder = make("div", { class: "board-svg" });
  private readonly ranks = make("div", { class: "ranks", "aria-hidden": "true" });
  private readonly files = make("div", { class: "files", "aria-hidden": "true" });
  private readonly grid: HTMLElement;
  private readonly cells = new Map<Square, HTMLElement>();
  private readonly chessboard: Chessboard;
  private readonly sense: SenseLayer;
  private readonly belief: BeliefLayer;
  private readonly arrows: ArrowLayer;
  private pieces: Pieces = {};
  private placement = "";
  private focused: Square;
  private dragging: { from: Square; x: number; y: number; image: SVGSVGElement | null } | null = null;
  private dragged = false; // the click that follows a drag is part of it

  constructor(
    host: HTMLElement,
    label: string,
    private orientation: Color,
    private input: BoardInput = {},
  ) {
    loadPieces();
    this.grid = make("div", { class: "cells", role: "grid", "aria-label": label });
    this.board = make("div", { class: "board" }, this.holder, this.grid);
    this.element = make("div", { class: "board-frame" }, this.ranks, this.board, this.files);
    host.append(this.element);
    this.focused = orientation === "white" ? "e4" : "e5";
    this.chessboard = new Chessboard(this.holder, {
      orientation: orientation[0],
      style: {
        cssClass: "penumbra",
        showCoordinates: false, // ours stand outside the squares
        animationDuration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : MOVE_MS,
      },
      extensions: [{ class: SenseLayer }, { class: BeliefLayer }, { class: ArrowLayer }],
    });
    this.chessboard.view.svg.setAttribute("role", "presentation");
    this.chessboard.view.svg.setAttribute("aria-hidden", "true");
    this.sense = this.chessboard.getExtension(SenseLayer);
    this.belief = this.chessboard.getExtension(BeliefLayer);
    this.arrows = this.chessboard.getExtension(ArrowLayer);
    this.makeCells();
    this.listen();
  }

  setPieces(pieces: Pieces, animated = false): void {
    this.pieces = pieces;
    const placement = placementOf(pieces);
    if (placement === this.placement) return; // as after each sense
    this.placement = placement;
    void this.chessboard.setPosition(placement, animated);
  }

  setLight(light: Partial<Light>): void {
    this.sense.show({ ...NO_LIGHT, ...light });
  }

  setBelief(belief: Belief): void {
    this.belief.show(belief);
  }

  setArrows(arrows: Arrow[]): void {
    this.arrows.show(arrows);
  }

  /** Says again what is on each cell. */
  describe(): void {
    for (const [square, cell] of this.cells) {
      const piece = this.pieces[square];
      const text = this.input.describe?.(square) ?? (piece ? pieceName(piece) : "empty");
      cell.setAttribute("aria-label", `${square}, ${text}`);
      cell.classList.toggle("draggable", this.input.canDrag?.(square) ?? false);
    }
  }

  /** Turns it round. */
  flip(): void {
    this.orientation = opponent(this.orientation);
    this.grid.replaceChildren();
    this.cells.clear();
    this.makeCells();
    void this.chessboard.setOrientation(this.orientation[0] as "w" | "b", false);
    this.describe();
  }

  focus(square: Square = this.focused): void {
    this.moveFocus(square);
  }

  /** The drawing, for a picture of the board. */
  get svg(): SVGSVGElement {
    return this.chessboard.view.svg;
  }

  destroy(): void {
    this.input = {}; // taking the cells away moves the pointer and the focus off them
    this.element.remove();
    this.chessboard.destroy();
  }

  // -- cells

  private makeCells(): void {
    const along = [...FILES];
    const up = ["8", "7", "6", "5", "4", "3", "2", "1"];
    const turned = this.orientation === "black";
    this.files.replaceChildren(...(turned ? along.reverse() : along).map((name) => make("span", {}, name)));
    this.ranks.replaceChildren(...(turned ? up.reverse() : up).map((name) => make("span", {}, name)));
    for (let row = 0; row < 8; row++) {
      const line = make("div", { role: "row" });
      for (let column = 0; column < 8; column++) {
        const white = this.orientation === "white";
        const square = squareAt(white ? column : 7 - column, white ? 7 - row : row)!;
        const cell = make("div", {
          role: "gridcell",
          tabindex: square === this.focused && this.input.choose ? 0 : -1,
          "data-square": square,
          "aria-label": square,
        });
        this.cells.set(square, cell);
        line.append(cell);
      }
      this.grid.append(line);
    }
  }

  private squareOf(target: EventTarget | null): Square | null {
    return target instanceof HTMLElement ? (target.dataset["square"] ?? null) : null;
  }

  private squareUnder(event: PointerEvent): Square | null {
    return this.squareOf(document.elementFromPoint(event.clientX, event.clientY));
  }

  private listen(): void {
    const { grid } = this;
    grid.addEventListener(
      "pointerover",
      (event) => event.pointerType !== "touch" && this.input.point?.(this.squareOf(event.target)),
    );
    grid.addEventListener("pointerleave", () => this.input.point?.(null));
    grid.addEventListener("focusin", (event) => this.input.point?.(this.squareOf(event.target)));
    grid.addEventListener("focusout", () => this.input.point?.(null));
    grid.addEventListener("click", (event) => {
      const square = this.dragged ? null : this.squareOf(event.target);
      this.dragged = false;
      if (square) this.input.choose?.(square, (event as PointerEvent).pointerType === "touch" ? "touch" : "mouse");
    });
    grid.addEventListener("keydown", (event) => this.key(event));
    grid.addEventListener("pointerdown", (event) => this.startDrag(event));
    grid.addEventListener("pointermove", (event) => this.moveDrag(event));
    grid.addEventListener("pointerup", (event) => this.endDrag(event, true));
    grid.addEventListener("pointercancel", (event) => this.endDrag(event, false));
  }

  private key(event: KeyboardEvent): void {
    const steps: Record<string, [number, number]> = {
      ArrowUp: [0, 1],
      ArrowDown: [0, -1],
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
    };
    const step = steps[event.key];
    if (step) {
      const up = this.orientation === "white" ? 1 : -1;
      const [file, rank] = [this.focused.charCodeAt(0) - 97, Number(this.focused[1]) - 1];
      const next = squareAt(file + up * step[0], rank + up * step[1]);
      if (next) this.moveFocus(next);
    } else if (event.key === "Enter" || event.key === " ") {
      if (!event.repeat) this.input.choose?.(this.focused, "key");
    } else if (event.key === "Escape") this.input.cancel?.();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private moveFocus(square: Square): void {
    this.cells.get(this.focused)!.tabIndex = -1;
    this.focused = square;
    const cell = this.cells.get(square)!;
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
  }

  // -- dragging

  private startDrag(event: PointerEvent): void {
    this.dragged = false;
    const from = this.squareOf(event.target);
    if (!from || event.button !== 0) return;
    this.cells.get(this.focused)!.tabIndex = -1;
    this.focused = from;
    if (this.input.choose) this.cells.get(from)!.tabIndex = 0;
    if (!this.input.canDrag?.(from)) return;
    this.dragging = { from, x: event.clientX, y: event.clientY, image: null };
  }

  private moveDrag(event: PointerEvent): void {
    const drag = this.dragging;
    if (!drag) return;
    if (!drag.image) {
      if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < DRAG_AFTER) return;
      drag.image = pieceIcon(this.input.pieceOn?.(drag.from) ?? this.pieces[drag.from] ?? "P");
      drag.image.classList.add("dragged");
      drag.image.style.width = `${this.board.clientWidth / 8}px`;
      document.body.append(drag.image);
      this.grid.setPointerCapture(event.pointerId);
      this.input.drag?.(drag.from);
    }
    drag.image.style.left = `${event.clientX}px`;
    drag.image.style.top = `${event.clientY}px`;
  }

  private endDrag(event: PointerEvent, dropped: boolean): void {
    const drag = this.dragging;
    this.dragging = null;
    if (!drag?.image) return;
    drag.image.remove();
    this.input.drop?.(drag.from, dropped ? this.squareUnder(event) : null);
    this.dragged = true;
  }
}
