// What is done by mistake because it comes too fast: the second click of two, a key held down, a click on the button
// that stood there a moment ago for something else.

export const HASTE_MS = 500;

export class Haste {
  private acted = -Infinity; // when
  private where = "";

  /** Something has been done, from a square or by a button. */
  did(where: string): void {
    this.acted = performance.now();
    this.where = where;
  }

  /** Whether a choice comes from where something has just been done; one from elsewhere is meant, and so is the next. */
  repeats(where: string): boolean {
    if (where !== this.where) this.where = "";
    return this.where !== "" && !this.settled;
  }

  /** Whether half a second has passed since anything was done. */
  get settled(): boolean {
    return performance.now() - this.acted >= HASTE_MS;
  }
}
