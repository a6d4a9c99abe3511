// Light or dark: as the system has it, until someone chooses otherwise.

const KEY = "penumbra.theme";

const stored = (): string | null => {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a page opened from a file may have no storage
  }
};

export function applyTheme(): void {
  const theme = stored();
  if (theme) document.documentElement.dataset["theme"] = theme;
}

export function nextTheme(): void {
  const current = document.documentElement.dataset["theme"];
  const dark = current ? current === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset["theme"] = dark ? "light" : "dark";
  try {
    localStorage.setItem(KEY, dark ? "light" : "dark");
  } catch {
    // then it lasts as long as the page
  }
}
