// What happened, in words.

import type { EndingFacts, GameEvent, Result, SideAbout } from "./protocol";
import { type Color, type Pieces, type Square, colorOf, kindName, pieceName } from "./squares";

const REASONS: Record<string, string> = {
  KING_CAPTURE: "the king was captured",
  TIMEOUT: "time ran out",
  RESIGN: "resignation",
  MOVE_LIMIT: "a hundred moves without a capture or a pawn move",
  TURN_LIMIT: "the limit of turns",
};
export const CRASH = "CRASH"; // a program failed, and there is no result
export const UNKEPT =
  "The server cannot write this game to its disk. You can play on, but the game is lost if the server stops.";

const capital = (text: string): string => text[0]!.toUpperCase() + text.slice(1);

/** Who plays a side: a program, or the other of two people. */
export const sideName = (side: SideAbout): string => (side.player === null ? "A friend" : side.name);

export const reasonName = (reason: string): string => REASONS[reason] ?? reason.toLowerCase().replaceAll("_", " ");

export function resultLine(result: Result | null): string {
  if (!result) return "The game was not finished.";
  if (result.reason === CRASH) return `${capital(result.crashed ?? "a program")} crashed: no result.`;
  return result.winner
    ? `${capital(result.winner)} wins: ${reasonName(result.reason)}.`
    : `A draw: ${reasonName(result.reason)}.`;
}

export function resultFor(color: Color, result: Result): string {
  if (result.reason === CRASH) return "Your opponent's program crashed. The game has no result.";
  if (!result.winner) return resultLine(result);
  const won = result.winner === color;
  if (result.reason === "KING_CAPTURE")
    return won ? "You captured the king. You win!" : "Your king was captured. You lose.";
  if (result.reason === "RESIGN") return won ? "Your opponent gave up. You win!" : "You resigned.";
  if (result.reason === "TIMEOUT") return won ? "Your opponent ran out of time. You win!" : "You ran out of time.";
  return `${won ? "You win" : "You lose"}: ${reasonName(result.reason)}.`;
}

/** One event as its player is told of it; `before` are its own pieces as they stood, `first`: nobody has moved yet. */
export function notice(event: GameEvent, before: Pieces, first: boolean): string {
  switch (event.type) {
    case "turn":
      if (event.capture) return `Your ${kindName(event.lost ?? "")} on ${event.capture} was captured.`;
      return first ? "The game begins." : "Your opponent moved; you lost nothing.";
    case "sensed":
      return event.square
        ? `Around ${event.square} you saw ${seenWords(event.seen, event.own)}.`
        : "You sensed nothing.";
    case "moved":
      return moveNotice(event.requested, event.taken, event.capture, before);
  }
}

function seenWords(seen: Record<Square, string | null>, own: Pieces): string {
  const color = colorOf(Object.values(own)[0] ?? "P");
  const words = Object.entries(seen)
    .filter(([, piece]) => piece && colorOf(piece) !== color)
    .map(([square, piece]) => `a ${pieceName(piece!)} on ${square}`);
  if (!words.length) return "no opposing piece";
  return words.length === 1 ? words[0]! : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

export function moveNotice(
  requested: string | null,
  taken: string | null,
  capture: Square | null,
  before: Pieces,
): string {
  if (!requested) return "You passed.";
  const [from, to] = [requested.slice(0, 2), requested.slice(2, 4)];
  const kind = kindName(before[from] ?? "");
  const castling = kind === "king" && Math.abs(from.charCodeAt(0) - to.charCodeAt(0)) === 2;
  if (!taken) {
    if (castling) return "You could not castle: something stands in between.";
    const diagonal = kind === "pawn" && from[0] !== to[0];
    return diagonal
      ? `Your pawn found nothing to capture on ${to}.`
      : `Your ${kind} on ${from} could not move to ${to}: the way is blocked.`;
  }
  const end = taken.slice(2, 4);
  if (castling) return "You castled.";
  if (end !== to) return capture ? `Your ${kind} stopped on ${end} and captured.` : `Your ${kind} stopped on ${end}.`;
  const promoted = taken[4] ? ` and became a ${kindName(taken[4])}` : "";
  if (capture && capture !== end) return `Your pawn captured en passant on ${capture}.`;
  return capture ? `Your ${kind} captured on ${end}${promoted}.` : `Your ${kind} moved to ${end}${promoted}.`;
}

/** A move as lists show it. With the pieces before it: `e4`, `Nf3`, `Qxh5 (to h7)`, `O-O`; without: `e2e4`. */
export function moveText(
  requested: string | null,
  taken: string | null,
  capture: Square | null,
  before?: Pieces,
): string {
  if (!requested) return "pass";
  const [from, to] = [requested.slice(0, 2), requested.slice(2, 4)];
  const piece = before?.[from];
  if (!piece) {
    const asked = requested.slice(0, 4) + (taken?.[4] ? `=${taken[4].toUpperCase()}` : "");
    if (!taken) return `${requested} ✕`;
    const stopped = taken.slice(2, 4) !== to ? ` → ${taken.slice(2, 4)}` : "";
    return `${asked}${stopped}${capture ? " ×" : ""}`;
  }
  const kind = piece.toUpperCase();
  if (kind === "K" && Math.abs(from.charCodeAt(0) - to.charCodeAt(0)) === 2)
    return (to[0] === "g" ? "O-O" : "O-O-O") + (taken ? "" : " ✕");
  const letter = kind === "P" ? (capture || from[0] !== to[0] ? from[0]! : "") : kind;
  const end = taken?.slice(2, 4) ?? to;
  const asked = end === to ? "" : ` (to ${to})`;
  const promoted = taken?.[4] ? `=${taken[4].toUpperCase()}` : "";
  return `${letter}${capture || (kind === "P" && !taken && letter) ? "×" : ""}${end}${promoted}${asked}${taken ? "" : " ✕"}`;
}

/** Why a game ended as it did, a sentence each. */
export function endingWords(color: Color, result: Result, { last, loss }: EndingFacts): string[] {
  const words: string[] = [];
  if (result.reason === "KING_CAPTURE" && last) {
    const whose = result.winner === color ? "Your" : "The";
    words.push(`${whose} ${kindName(last.piece)} went from ${last.from} to ${last.to} and took the king.`);
  } else words.push("The board shows what was really there.");
  if (!loss || !last) return words;
  const since = loss.since === null ? "" : `It stood on ${last.from} since your turn ${loss.since}, and `;
  const shown = loss.verdict?.sense ? "." : `: a sense at ${last.from} would have shown it.`;
  const looked = loss.seen === null ? `you never looked there${shown}` : `you saw it there in turn ${loss.seen}.`;
  if (since) words.push(since + looked);
  if (loss.verdict) words.push(loss.verdict.text.replace("This move", `Your move in turn ${loss.turn}`));
  if (loss.turned !== null && loss.turned < loss.turn) words.push(`Your king was in danger since turn ${loss.turned}.`);
  return words;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

export const percent = (share: number | null): string => (share === null ? "–" : `${Math.round(100 * share)} %`);

export function clockText(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds - 1e-6));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = String(whole % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
