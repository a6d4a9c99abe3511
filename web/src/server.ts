// Talking to the server: requests, answers line by line, and a game's socket that comes back by itself.

import type { ServerError } from "./protocol";

export class Refused extends Error {
  /** `code` is the server's word for it, "" where the page itself refuses. */
  constructor(
    message: string,
    readonly code = "",
  ) {
    super(message);
  }
}

async function answerOf(response: Response): Promise<Response> {
  if (response.ok) return response;
  let said: Partial<ServerError> = {};
  try {
    said = (await response.json()) as ServerError;
  } catch {
    // an answer of something that is not this server
  }
  throw new Refused(said.message ?? `the server answered ${response.status}`, said.code);
}

async function ask(path: string, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (init?.signal?.aborted) throw error;
    throw new Refused("the server cannot be reached");
  }
  return answerOf(response);
}

export async function get<T>(path: string): Promise<T> {
  return (await (await ask(path)).json()) as T;
}

export async function getText(path: string): Promise<string> {
  return (await ask(path)).text();
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return postText<T>(path, JSON.stringify(body));
}

export async function postText<T>(path: string, body: string): Promise<T> {
  return (await (await ask(path, { method: "POST", body })).json()) as T;
}

export async function remove(path: string): Promise<void> {
  await ask(path, { method: "DELETE" });
}

function isError(item: unknown): item is ServerError {
  return (item as ServerError).type === "error";
}

/** Posts, and yields each line of the answer as it comes. */
export async function* postForLines<T>(path: string, body: string, signal?: AbortSignal): AsyncGenerator<T> {
  yield* linesOf<T>(await ask(path, { method: "POST", body, signal }));
}

export async function* getLines<T>(path: string, signal?: AbortSignal): AsyncGenerator<T> {
  yield* linesOf<T>(await ask(path, { signal }));
}

async function* linesOf<T>(response: Response): AsyncGenerator<T> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const item = JSON.parse(line) as T | ServerError;
      if (isError(item)) throw new Refused(item.message);
      yield item as T;
    }
  }
}

const NO_GAME = 4404;
const UNKNOWN_ORIGIN = 4403;
const FREE_SEAT = 4409;
const FIRST_WAIT = 250; // milliseconds before the first try to come back; each further one waits twice as long
const LONGEST_WAIT = 5_000;

export interface SocketEvents<T> {
  message(message: T): void;
  /** Whether the server can be heard. */
  connected(yes: boolean): void;
  /** There is no such game, or not for this page; nothing more will come. */
  refused(reason: string): void;
  /** The other of two people may come in here; nothing more will come until somebody does. */
  invited?(): void;
}

/** A game's socket. After a loss it tries again until it is closed; the server then tells everything once more. */
export class GameSocket<T> {
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT;
  private timer = 0;
  private closed = false;

  constructor(
    private readonly id: string,
    private readonly events: SocketEvents<T>,
  ) {
    this.connect();
    window.addEventListener("online", this.hurry);
  }

  /** Whether it was sent. */
  send(message: object): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  close(): void {
    this.closed = true;
    window.clearTimeout(this.timer);
    window.removeEventListener("online", this.hurry);
    this.socket?.close();
  }

  private readonly hurry = (): void => {
    if (this.timer) {
      window.clearTimeout(this.timer);
      this.connect();
    }
  };

  private connect(): void {
    this.timer = 0;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/api/games/${this.id}/socket`);
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      this.wait = FIRST_WAIT;
      this.events.connected(true);
      this.events.message(JSON.parse(String(data)) as T);
    };
    socket.onclose = ({ code, reason }) => {
      if (this.closed) return;
      if (code === NO_GAME || code === UNKNOWN_ORIGIN) {
        this.close();
        this.events.refused(reason || "there is no such game");
        return;
      }
      if (code === FREE_SEAT) {
        this.close();
        this.events.invited?.();
        return;
      }
      this.events.connected(false);
      this.timer = window.setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
    };
  }
}
