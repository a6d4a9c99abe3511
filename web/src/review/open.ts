// Games to review, from wherever they come.

import { go } from "../page";
import type { ReviewHeader, Step } from "../protocol";
import { Refused, getText, postForLines, postText } from "../server";
import type { ReviewSource } from "./review";

const LARGEST = 4_000_000; // bytes that the server takes

/** A game as reconchess writes it, played through by the server. */
async function openGame(
  file: string,
  link: string | null,
  position: number,
  kept: string | null,
): Promise<ReviewSource> {
  const lines = postForLines<ReviewHeader | Step>("/api/review", file);
  const { value, done } = await lines.next();
  if (done || value.type !== "penumbra review") throw new Refused("the server gave no review");
  return { header: value, steps: lines as AsyncIterable<Step>, file, link, position, kept };
}

export async function openStored(kind: string, id: string, position: number): Promise<ReviewSource> {
  const path = kind === "archive" ? `/api/archive/${encodeURIComponent(id)}` : `/api/games/${encodeURIComponent(id)}`;
  return openGame(await getText(path), `#/review/${kind}/${id}`, position, kind === "archive" ? null : id);
}

/** Keeps a game file on the server, and goes to it there. Where the server can keep no more, the review itself. */
export async function openFile(file: File): Promise<ReviewSource | null> {
  if (file.size > LARGEST) throw new Refused("it is too large for a game");
  const text = await file.text();
  try {
    go(`#/review/game/${(await postText<{ game: string }>("/api/uploads", text)).game}`);
    return null;
  } catch (error) {
    if ((error as Refused).code !== "full") throw error;
    return openGame(text, null, 0, null);
  }
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
  return { header: { ...header, steps: steps.length }, steps, file: header.file, link: "#", position, kept: null };
}
