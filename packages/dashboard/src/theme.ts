import { signal } from "@preact/signals";
import { applyTheme, savedTheme, saveTheme, type Theme } from "./saved-theme.ts";

export const theme = signal<Theme>(savedTheme());

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  applyTheme(chosen);
  saveTheme(chosen);
}
