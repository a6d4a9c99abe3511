// What this browser remembers of its user's choices.

export interface Settings {
  opponent: string;
  color: "white" | "random" | "black";
  clock: string;
  sound: boolean;
  ages: boolean; // say how many turns ago a piece was seen
  style: "heat" | "ghosts"; // of assistance
  aids: boolean; // whether the drawer of aids is open
  learned: string[]; // lessons played to their end
  greeted: boolean; // whether the first visit is over
}

const KEY = "penumbra.settings";
const FIRST: Settings = {
  opponent: "penumbra:2",
  color: "white",
  clock: "",
  sound: false,
  ages: true,
  style: "ghosts",
  aids: false,
  learned: [],
  greeted: false,
};

export function settings(): Settings {
  try {
    return { ...FIRST, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>) };
  } catch {
    return FIRST; // a page opened from a file may have no storage
  }
}

export function remember(changes: Partial<Settings>): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...settings(), ...changes }));
  } catch {
    // then it lasts as long as the page
  }
}
