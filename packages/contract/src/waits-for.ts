// The cause of a delay, as `/v1` shows it: of a build, a template, a sandbox or a machine that cannot go on
// by itself.

import { Type, type Static } from "typebox";
import { lengthText } from "./durations.ts";
import { Nullable, OneOf, Timestamp } from "./fields.ts";

export const waitKinds = ["template", "host", "place", "context", "attempt"] as const;
export type WaitKind = (typeof waitKinds)[number];

export const WaitsFor = Type.Object(
  {
    kind: OneOf(waitKinds, {
      description:
        "`template`: an image that a host makes. `host`: an answer of a host. `place`: free memory, CPUs or a turn. `context`: the context of a build. `attempt`: the time of the next attempt.",
    }),
    id: Nullable(Type.String({ description: "Id of the template or the host." })),
    name: Nullable(Type.String({ description: "Name of the template." })),
    reason: Type.String({ description: "A sentence for people, with what happened to it." }),
    since: Timestamp,
  },
  { additionalProperties: false },
);
export type WaitsFor = Static<typeof WaitsFor>;

/**
 * An attempt that failed, as sentences name it: `failed 2 min ago: no mirror answers; tried again at 16:43:08
 * UTC`.
 */
export function failedText(
  { reason, failed_at, next_attempt }: FailedAttempt,
  nowMs: number = Date.now(),
): string {
  const again = next_attempt === null ? "" : `; tried again at ${clockText(next_attempt)}`;
  return `failed ${agoText(failed_at, nowMs)}: ${reason.replace(/[.;\s]+$/, "")}${again}`;
}

export interface FailedAttempt {
  readonly reason: string;
  readonly failed_at: string;
  /** Null: no attempt is planned. */
  readonly next_attempt: string | null;
}

function agoText(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at);
  return ms < 1_000 ? "just now" : `${lengthText(ms)} ago`;
}

function clockText(at: string): string {
  return `${at.slice(11, 19)} UTC`;
}
