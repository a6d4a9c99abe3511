// What is said to those who listen rather than look.

import { make } from "./elements";

const polite = make("div", { class: "spoken", role: "status", "aria-live": "polite" });
const urgent = make("div", { class: "spoken", role: "alert", "aria-live": "assertive" });
document.body.append(polite, urgent);

export function say(text: string): void {
  polite.textContent = text;
}

export function alertUser(text: string): void {
  urgent.textContent = text;
}
