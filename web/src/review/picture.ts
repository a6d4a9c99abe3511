// A picture of a board, as it is shown, to share.

import { makeSvg } from "../elements";

const SIZE = 960;
const STYLED = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "opacity",
  "font-size",
  "font-family",
  "text-anchor",
  "dominant-baseline",
  "font-weight",
];

export async function boardPicture(svg: SVGSVGElement): Promise<Blob> {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const { width, height } = svg.getBoundingClientRect();
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.setAttribute("width", String(SIZE));
  copy.setAttribute("height", String(SIZE));
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  writeStyles(svg, copy);
  const sprite = document.querySelector("#cm-chessboard-sprite svg");
  if (sprite) copy.prepend(makeSvg("defs", {}, sprite.cloneNode(true)));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIZE;
  canvas.getContext("2d")!.drawImage(image, 0, 0, SIZE, SIZE);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture could not be made"))), "image/png");
  });
}

/** The page's style sheet does not come along with a picture: its rules are written onto the elements. */
function writeStyles(from: Element, to: Element): void {
  if (from.closest("[data-piece], .ghost")) return;
  const style = getComputedStyle(from);
  for (const name of STYLED) to.setAttribute(name, style.getPropertyValue(name));
  [...from.children].forEach((child, i) => writeStyles(child, to.children[i]!));
}
