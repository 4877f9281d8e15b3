import type { Outcome } from "./outcome.ts";

export interface Check {
  readonly name: string;
  /** Whether plain `skerry doctor` shows it; `--thorough` shows all. */
  readonly shown: "always" | "unless_ok" | "thorough";
  readonly look: () => Promise<Outcome>;
}
