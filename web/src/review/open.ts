// Games to review, from wherever they come.

import type { ReviewHeader, Step } from "../protocol";
import { Refused, getText, postForLines } from "../server";
import type { ReviewSource } from "./review";

const LARGEST = 4_000_000; // bytes that the server takes

/** A game as reconchess writes it, played through by the server. */
export async function openGame(file: string, link: string | null, position: number): Promise<ReviewSource> {
  const lines = postForLines<ReviewHeader | Step>("/api/review", file);
  const { value, done } = await lines.next();
  if (done || value.type !== "penumbra review") throw new Refused("the server gave no review");
  return { header: value, steps: lines as AsyncIterable<Step>, file, link, position };
}

export async function openStored(kind: string, id: string, position: number): Promise<ReviewSource> {
  const path = kind === "archive" ? `/api/archive/${encodeURIComponent(id)}` : `/api/games/${encodeURIComponent(id)}`;
  return openGame(await getText(path), `#/review/${kind}/${id}`, position);
}

export async function openFile(file: File): Promise<ReviewSource> {
  if (file.size > LARGEST) throw new Refused("it is too large for a game");
  return openGame(await file.text(), null, 0);
}

/** A review written into the page itself; null where there is none. */
export function embeddedReview(): ReviewSource | null {
  const holder = document.getElementById("penumbra-review");
  if (!holder) return null;
  const { steps, ...header } = JSON.parse(holder.textContent!) as Omit<ReviewHeader, "steps"> & {
    steps: Step[];
    file: string;
  };
  const position = Number(/\/(\d+)$/.exec(location.hash)?.[1] ?? 0);
  return { header: { ...header, steps: steps.length }, steps, file: header.file, link: "#", position };
}
