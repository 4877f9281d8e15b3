import type { LogLevel } from "@skerry/contract/apps/app-logs";

/** A line on its way to a receiver. */
export interface ForwardedLine {
  readonly app: { readonly id: string; readonly name: string };
  readonly group: string;
  /** Group and number. */
  readonly instance: string;
  readonly machine: string;
  readonly release: number;
  /** Milliseconds since 1970; 0: not known. */
  readonly atMs: number;
  readonly level: LogLevel | null;
  readonly line: string;
}
