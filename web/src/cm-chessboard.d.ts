// The part of cm-chessboard that is used here.

declare module "cm-chessboard/src/Chessboard.js" {
  import type { Extension } from "cm-chessboard/src/model/Extension.js";
  export interface View {
    svg: SVGSVGElement;
    boardGroup: SVGGElement;
    piecesGroup: SVGGElement;
    markersLayer: SVGGElement;
    piecesLayer: SVGGElement;
    markersTopLayer: SVGGElement;
    squareWidth: number;
    squareHeight: number;
    scalingY: number;
    squareToPoint(square: string): { x: number; y: number };
  }
  export class Chessboard {
    constructor(context: HTMLElement, props?: object);
    view: View;
    setPosition(fen: string, animated?: boolean): Promise<void>;
    setOrientation(color: "w" | "b", animated?: boolean): Promise<void>;
    getExtension<T extends Extension>(kind: new (chessboard: Chessboard) => T): T;
    destroy(): void;
  }
}

declare module "cm-chessboard/src/model/Extension.js" {
  import type { Chessboard } from "cm-chessboard/src/Chessboard.js";
  export const EXTENSION_POINT: Record<"afterRedrawBoard" | "destroy", string>;
  export class Extension {
    constructor(chessboard: Chessboard);
    chessboard: Chessboard;
    registerExtensionPoint(name: string, callback: () => void): void;
  }
}
