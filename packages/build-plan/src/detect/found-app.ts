import type { RequestedStep } from "../build-plan.ts";

/** An app as one provider found it. `command` starts the app; undefined where no file says how. */
export interface FoundApp {
  readonly template: string;
  readonly steps: readonly RequestedStep[];
  readonly env: Readonly<Record<string, string>>;
  readonly command: string | undefined;
  /** Advice where nothing says how the app is started. */
  readonly startRemedy: string;
  readonly why: readonly string[];
}
