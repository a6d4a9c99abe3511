// What Penumbra thinks about a decision: its choice, the best actions, its beliefs, and the planes it looks at.

import { choice, make } from "../elements";
import type { About, Analysis, Thought } from "../protocol";
import { count, percent } from "../words";
import type { Overlay } from "./boards";

const BEST = 8;

export function thoughtView(thought: Thought | Analysis): HTMLElement {
  const rows = thought.actions
    .slice(0, BEST)
    .map(({ action, policy, visits, value }) =>
      make(
        "tr",
        { class: action === thought.action ? "chosen" : null },
        make("th", { scope: "row" }, action),
        make("td", {}, percent(policy)),
        make("td", {}, visits ? Math.round(visits).toLocaleString("en") : "–"),
        make("td", {}, percent(value)),
      ),
    );
  const head = ["action", "policy", "visits", "value"].map((text) => make("th", { scope: "col" }, text));
  const particles = thought.health ? "" : `${count(thought.particles, "particle")}, `;
  const played = "played" in thought ? `; played: ${thought.played}` : "";
  return make(
    "div",
    { class: "thought" },
    make("p", {}, make("strong", {}, thought.action), ` (${thought.reason})${played}`),
    make(
      "p",
      { class: "facts" },
      thought.value === null ? "" : `chance to win ${percent(thought.value)}; `,
      `${count(thought.states, "state")}, ${particles}${count(thought.nodes, "node")}, ${thought.seconds.toFixed(2)} s`,
    ),
    ...healthView(thought),
    make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
  );
}

/** How the belief stood, with a warning in words where a search had too little of it. */
function healthView({ health, reason }: Thought): HTMLElement[] {
  if (!health) return [];
  if (!health.particles) return [make("p", { class: "facts health" }, "Belief: not used")];
  const facts = [
    `${count(health.particles, "particle")} from ${health.ancestors.toLocaleString("en")} a turn ago`,
    count(health.singletons, "singleton"),
    health.rejections !== null && `${health.rejections.toFixed(1)} rejections each`,
    health.seconds !== null && `refilled in ${health.seconds.toFixed(2)} s`,
  ].filter(Boolean);
  const line = make("p", { class: "facts health" }, `Belief: ${facts.join(", ")}`);
  if (!health.few || reason !== "search") return [line];
  const found = `this search stood on only ${count(health.particles, "particle")}, so its values are rough.`;
  return [line, make("p", { class: "warning" }, make("strong", {}, "Warning: "), found)];
}

export function overlayChoice(chosen: Overlay, onChange: (overlay: Overlay) => void): HTMLElement {
  return choice<Overlay>(
    "Shown on the board",
    [
      ["policy", "What it would do"],
      ["belief", "Where it thinks pieces are"],
      ["knowledge", "What it thinks the opponent knows"],
    ],
    chosen,
    onChange,
  );
}

/** The planes of the synopsis, each 8×8, own side at the bottom. */
export function planesView(planes: string[], about: About): HTMLElement {
  const figures = planes.map((hex, number) => {
    const canvas = make("canvas", { width: 8, height: 8, role: "img", "aria-label": about.planes[number]?.name ?? "" });
    const context = canvas.getContext("2d")!;
    const bits = BigInt(`0x${hex}`);
    const style = getComputedStyle(document.documentElement);
    for (let square = 0; square < 64; square++) {
      context.fillStyle = style.getPropertyValue((bits >> BigInt(square)) & 1n ? "--plane-on" : "--plane-off");
      context.fillRect(square % 8, 7 - Math.floor(square / 8), 1, 1);
    }
    const plane = about.planes[number];
    return make(
      "figure",
      { title: plane ? `${plane.name}: ${plane.description}` : "" },
      canvas,
      make("figcaption", {}, `${number} ${plane?.name ?? ""}`),
    );
  });
  return make(
    "details",
    { class: "planes" },
    make("summary", {}, "The 104 planes of the synopsis"),
    make("div", { class: "plane-grid" }, ...figures),
  );
}
