// What Penumbra thinks about a decision: its choice, the best actions, its beliefs, and the planes it looks at.

import { choice, make } from "../elements";
import type { About, Analysis, Thought } from "../protocol";
import { count, percent } from "../words";
import type { Overlay } from "./boards";

const BEST = 8;

export function thoughtView(thought: Thought | Analysis, about: About | null = null): HTMLElement {
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
    fewView(thought),
    make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
    drawer(thought, about),
  );
}

/** A warning in words where a search had too little of a belief. */
function fewView({ health, reason }: Thought): HTMLElement | null {
  if (!health?.particles || !health.few || reason !== "search") return null;
  const found = `this search stood on only ${count(health.particles, "particle")}, so its values are rough.`;
  return make("p", { class: "warning" }, make("strong", {}, "Warning: "), found);
}

/** How the belief stood. */
function healthView({ health }: Thought): HTMLElement | null {
  if (!health) return null;
  if (!health.particles) return make("p", { class: "facts health" }, "Belief: not used");
  const facts = [
    `${count(health.particles, "particle")} from ${health.ancestors.toLocaleString("en")} a turn ago`,
    count(health.singletons, "singleton"),
    health.rejections !== null && `${health.rejections.toFixed(1)} rejections each`,
    health.seconds !== null && `refilled in ${health.seconds.toFixed(2)} s`,
  ].filter(Boolean);
  return make("p", { class: "facts health" }, `Belief: ${facts.join(", ")}`);
}

let drawerOpen = false; // as it was left

/** What only those want to see who wonder how it came about: the health of the belief, and the planes. */
function drawer(thought: Thought | Analysis, about: About | null): HTMLElement | null {
  const health = healthView(thought);
  const planes = about && "planes" in thought && thought.planes ? planesView(thought.planes, about) : null;
  if (!health && !planes) return null;
  const words = planes ? "Health of the belief, and the 104 planes" : "Health of the belief";
  const details = make("details", { class: "drawer", open: drawerOpen }, make("summary", {}, words), health, planes);
  details.addEventListener("toggle", () => {
    drawerOpen = details.open;
  });
  return details;
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
function planesView(planes: string[], about: About): HTMLElement {
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
  return make("div", { class: "plane-grid" }, ...figures);
}
