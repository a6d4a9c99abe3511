// The tab says whose turn it is, in its title and its icon.

const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
let title = "Penumbra";

function icon(turn: boolean): string {
  const dot = turn ? '<circle cx="24" cy="8" r="8" fill="#d6301f" stroke="#fff" stroke-width="2"/>' : "";
  const moon =
    '<circle cx="16" cy="16" r="15" fill="#1a1e2b"/><path d="M16 1a15 15 0 0 0 0 30 11 15 0 0 0 0-30" fill="#f2a516"/>';
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${moon}${dot}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(drawing)}`;
}

/** The title of the page that is shown; it is nobody's turn on it yet. */
export function setTitle(name: string): void {
  title = name ? `${name} · Penumbra` : "Penumbra";
  setTurn(false);
}

export function setTurn(yours: boolean): void {
  document.title = yours ? `● Your turn · Penumbra` : title;
  if (link) link.href = icon(yours);
}
