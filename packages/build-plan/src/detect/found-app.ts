import type { RequestedStep } from "../build-plan.ts";

/** An app as one provider found it. `command` starts the app; undefined where no file says how. */
export interface FoundApp {
  readonly template: string;
  readonly steps: readonly RequestedStep[];
  readonly env: Readonly<Record<string, string>>;
  readonly command: string | undefined;
  /** What to do where nothing says how it is started. */
  readonly startRemedy: string;
  readonly why: readonly string[];
}
