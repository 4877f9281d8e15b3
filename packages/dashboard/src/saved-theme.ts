// What this page keeps in the browser beyond the tab. Without imports, because it runs before the rest.

export const themes = ["system", "dark", "light"] as const;
export type Theme = (typeof themes)[number];

const KEY = "skerry-theme";

export function savedTheme(): Theme {
  try {
    const saved = localStorage.getItem(KEY);
    return themes.find((name) => name === saved) ?? "system";
  } catch {
    return "system";
  }
}

export function saveTheme(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A browser that keeps nothing shows it until the page is left.
  }
}

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
}
