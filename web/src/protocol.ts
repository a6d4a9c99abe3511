// The messages of the server, version 1, as docs/server.md describes them.

import type { Color, Pieces, Square } from "./squares";

export const PROTOCOL = 1;

export type Shares = Record<Square, Record<string, number>>; // {"e4": {"N": 0.25}}

export interface Bot {
  name: string;
  title: string;
  line: string;
  rating: number | null; // Elo, where it has been measured
  takes_strength: boolean;
}

export interface About {
  version: string;
  protocol: number;
  players: Bot[];
  planes: { name: string; description: string }[];
  fault: string | null; // why some players are missing
  archive: boolean;
}

export interface Strength {
  seconds?: number;
  nodes?: number;
}

export interface Clocks {
  white: number;
  black: number;
  running: Color | null;
}

export interface Result {
  winner: Color | null;
  reason: string;
  crashed?: Color; // whose program failed, so that nobody has won
}

export interface SideAbout {
  name: string;
  player: string | null;
  seconds: number | null;
  nodes: number | null;
}

export interface GameAbout {
  id: string;
  white: SideAbout;
  black: SideAbout;
  clock: { seconds: number; increment: number } | null;
}

export type GameEvent =
  | { type: "turn"; step: number; capture: Square | null; lost: string | null; own: Pieces }
  | { type: "sensed"; step: number; square: Square | null; seen: Record<Square, string | null>; own: Pieces }
  | {
      type: "moved";
      step: number;
      requested: string | null;
      taken: string | null;
      capture: Square | null;
      own: Pieces;
    };

export interface PlayState {
  phase: "invited" | "sense" | "move" | "waiting" | "over";
  step?: number;
  moves?: string[];
  clocks: Clocks | null;
  kept: boolean; // whether the server could write the whole game to its disk
  result?: Result;
  here?: boolean; // between two people: whether the other one is
  rematch?: boolean; // and whether one has been asked for
}

/** The seat of a game between two people that is free, or one's own. */
export interface FreeSeat {
  color: Color;
  clock: GameAbout["clock"];
  taken: boolean;
}

export interface PlayGreeting {
  type: "game";
  protocol: number;
  game: GameAbout & {
    mode: "play";
    color: Color;
    thinks: number | null; // seconds that the opponent may think about a turn
    aids: Aid[];
  };
  events: GameEvent[];
  state: PlayState;
  assisted: boolean;
}

export interface Assistance {
  type: "assistance";
  states: number | null;
  complete: boolean;
  pieces: Shares;
}

export type Aid = "tracker" | "hint";

export type Hint = { type: "hint"; step: number; states: number } & (
  | { kind: "sense"; square: Square | null; after: number | null }
  | {
      kind: "move";
      move: string | null;
      value: number | null; // chance to win
      other: { move: string | null; value: number | null } | null;
      king: number; // share of the states in which it takes the king
    }
);

export interface EndingFacts {
  before: string; // FENs
  after: string;
  last: { from: Square; to: Square; piece: string; capture: Square | null } | null;
  loss: {
    since: number | null; // own turn from which on the attacker stood there
    seen: number | null; // own turn in which it was last seen there
    turn: number;
    verdict: Verdict | null; // on the last own move; null where the states could not be followed
    turned: number | null; // own turn since which the king was in danger
  } | null;
}

export interface PastGame {
  id: string;
  time: number;
  color: Color;
  opponent: SideAbout;
  clock: { seconds: number; increment: number } | null;
  aids: Aid[];
  retried: number | null; // the step of another game from which it goes on
  result: (Result & { plies: number }) | null;
}

export interface History {
  games: PastGame[];
  uploads: ListedGame[]; // game files, kept to be reviewed again
  days: number; // for which the cookie is kept
  kept_days: number | null; // for which games are kept after their last change; null: until they are deleted
}

export interface ServerError {
  type: "error";
  code: string;
  message: string;
}

export type PlayMessage =
  PlayGreeting | { type: "update"; event: GameEvent | null; state: PlayState } | Assistance | Hint | ServerError;

export interface StateSet {
  states: number;
  complete: boolean;
  bits: number;
  pieces: Shares;
}

/** What is said of a move in a review: that it leaves the king to be taken, or that another takes the opponent's. */
export interface Verdict {
  kind: "lost" | "missed";
  cost: number; // the share of the states that the better move would have spared
  states: number; // in which it is so
  of: number;
  true: boolean; // whether it was so in the game
  better: string;
  sense: Square | null; // that would have told
  text: string;
}

interface StepFacts {
  step: number;
  turn: number;
  color: Color;
  fen: string;
  sets: Partial<Record<Color, StateSet | null>>;
  thought?: Thought | null;
}

export type Step =
  | (StepFacts & { type: "sensed"; square: Square | null; seen: Record<Square, string | null> })
  | (StepFacts & {
      type: "moved";
      requested: string | null;
      taken: string | null;
      capture: Square | null;
      verdict?: Verdict;
    });

export interface ReviewHeader {
  type: "penumbra review";
  protocol: number;
  white: string;
  black: string;
  start: string;
  steps: number;
  result: Result | null;
}

export interface Action {
  action: string;
  policy: number | null;
  visits: number | null;
  value: number | null;
}

/** How the belief stood at a decision, and what it took to refill it since the decision before. */
export interface Health {
  particles: number;
  ancestors: number; // different particles of four steps ago that they come from
  singletons: number; // of the particles, those that stand for ignorance
  rejections: number | null; // for each particle drawn
  inferences: number;
  seconds: number | null;
  few?: boolean; // fewer particles than a search should stand on
}

export interface Thought {
  action: string;
  reason: string;
  value: number | null;
  states: number;
  particles: number;
  health?: Health | null; // of recordings by older versions: none
  nodes: number;
  seconds: number;
  actions: Action[];
  belief: Shares;
}

export interface Analysis extends Thought {
  player: Color;
  turn: number;
  step: "sense" | "move";
  chosen: string;
  played: string;
  cost?: number | null; // of what was played beside what was chosen
  knowledge?: Shares;
  planes?: string[];
}

export interface WatchState {
  phase: "running" | "paused" | "over";
  seconds: number;
  clocks: Clocks | null;
  kept: boolean;
  result: Result | null;
}

export interface WatchGreeting {
  type: "game";
  protocol: number;
  game: GameAbout & { mode: "watch"; start: string };
  steps: Step[];
  state: WatchState;
}

export type WatchMessage = WatchGreeting | { type: "update"; step: Step | null; state: WatchState } | ServerError;

export interface ListedGame {
  id: string | number;
  white: string;
  black: string;
  winner: Color | null;
  reason: string | null;
  plies: number;
  time: number;
}
