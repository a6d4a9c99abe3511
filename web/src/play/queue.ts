// What a player has planned for its next turn while the opponent thinks.

import type { Square } from "../squares";

export class Queue {
  sense: Square | null = null;
  move: [from: Square, to: Square] | null = null;

  get empty(): boolean {
    return this.sense === null && this.move === null;
  }

  clear(): void {
    this.sense = this.move = null;
  }

  get words(): string {
    const parts = [this.sense && `sense ${this.sense}`, this.move && `move ${this.move.join("–")}`];
    return parts.filter(Boolean).join(", then ");
  }
}
