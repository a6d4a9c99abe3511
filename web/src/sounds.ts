// Short sounds, made by the browser itself; silent until somebody asks for them.

import { remember, settings } from "./settings";

export type Sound = "turn" | "move" | "capture" | "lost" | "won" | "over";

type Note = [frequency: number, start: number, length: number]; // hertz, seconds, seconds

const TUNES: Record<Sound, Note[]> = {
  turn: [[660, 0, 0.09]],
  move: [[220, 0, 0.05]],
  capture: [
    [196, 0, 0.06],
    [147, 0.05, 0.1],
  ],
  lost: [
    [330, 0, 0.1],
    [220, 0.1, 0.16],
  ],
  won: [
    [523, 0, 0.12],
    [659, 0.12, 0.12],
    [784, 0.24, 0.25],
  ],
  over: [
    [392, 0, 0.15],
    [294, 0.15, 0.3],
  ],
};
const LOUDNESS = 0.12;

let context: AudioContext | null = null;

export function play(sound: Sound): void {
  if (!settings().sound) return;
  context ??= new AudioContext();
  for (const [frequency, start, length] of TUNES[sound]) {
    const at = context.currentTime + start;
    const oscillator = context.createOscillator();
    const volume = context.createGain();
    oscillator.type = "triangle";
    oscillator.frequency.value = frequency;
    volume.gain.setValueAtTime(0, at);
    volume.gain.linearRampToValueAtTime(LOUDNESS, at + 0.01);
    volume.gain.exponentialRampToValueAtTime(0.001, at + length);
    oscillator.connect(volume).connect(context.destination);
    oscillator.start(at);
    oscillator.stop(at + length);
  }
}

/** Whether there are sounds now. */
export function toggleSounds(): boolean {
  const sound = !settings().sound;
  remember({ sound });
  play("turn");
  return sound;
}
