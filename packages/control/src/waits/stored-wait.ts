// The cause of a delay as rows keep it. What is told of it is worded when it is read, because a failure of 2
// minutes ago is one of 3 minutes ago soon.

import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import { BUILDER_TEMPLATE } from "@skerry/contract/templates/template-name";
import { failedText, type WaitKind, type WaitsFor } from "@skerry/contract/waits-for";
import { sql, type RawBuilder } from "kysely";
import type { StoredWait } from "../db/tables/stored-wait.ts";
import { saidBy } from "../db/host-failure.ts";

export type NewWait = Omit<StoredWait, "since">;

/** The same wait as before has the time of its beginning. `column` is where it is kept. */
export function keptWait(column: string, wait: NewWait): RawBuilder<StoredWait> {
  const kept = sql.ref(column);
  return sql`jsonb_set(${JSON.stringify(wait)}::jsonb, '{since}',
    case when ${isSameWait(column, wait)} then ${kept} -> 'since'
         else to_jsonb(to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end)`;
}

export function isSameWait(column: string, { kind, name }: NewWait): RawBuilder<boolean> {
  const kept = sql.ref(column);
  return sql<boolean>`coalesce(${kept} ->> 'kind' = ${kind} and ${kept} ->> 'name' is not distinct from ${name}::text, false)`;
}

/** Why an attempt was refused that is made again. */
export function waitOf(error: unknown, hostId: string): NewWait {
  const text = saidBy(error);
  if (!(error instanceof SkerryError)) return { kind: "attempt", id: null, name: null, text };
  if (error.code === "template_not_ready") return waitForTemplate(error, text);
  if (error.code === "no_capacity") return { kind: "place", id: null, name: null, text };
  return { kind: "host", id: hostId, name: null, text };
}

/** A host that is away, lacks an image or has no room: a background service has not failed at it. */
export function isWaiting(error: unknown): boolean {
  return error instanceof SkerryError && waiting.has(error.code);
}

const waiting: ReadonlySet<ErrorCode> = new Set([
  "host_unavailable",
  "host_draining",
  "template_not_ready",
  "no_capacity",
]);

/** A host says in the error's context which template it is, and how its making went. */
function waitForTemplate({ context = {} }: SkerryError, text: string): NewWait {
  const { template, failure, failed_at: at, next_attempt: next, progress } = context;
  const name = typeof template === "string" ? template : null;
  const wait = { kind: "template", id: null, name } as const;
  if (typeof failure === "string" && typeof at === "string" && isTime(at))
    return {
      ...{ ...wait, text: "" },
      failure: {
        reason: saidBy(new SkerryError("template_not_ready", failure)),
        failed_at: at,
        next_attempt: typeof next === "string" && isTime(next) ? next : null,
      },
    };
  const far =
    typeof progress === "string" ? ` (${saidBy(new SkerryError("template_not_ready", progress))})` : "";
  return { ...wait, text: name === null ? text : `which its host makes${far}` };
}

function isTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text));
}

export function waitsForOf({ kind, id, name, since, ...told }: StoredWait, nowMs = Date.now()): WaitsFor {
  const { failure, text } = told;
  const what = thingOf({ kind, name });
  if (failure !== undefined)
    return { kind, id, name, since, reason: `waits for ${what}, which ${failedText(failure, nowMs)}` };
  return {
    kind,
    id,
    name,
    since,
    reason: `waits for ${what}${text.startsWith("which ") ? ", " : ": "}${text}`,
  };
}

function thingOf({ kind, name }: Pick<StoredWait, "kind" | "name">): string {
  if (kind === "template" && name === BUILDER_TEMPLATE) return "the image in which builds run";
  if (kind === "template" && name !== null) return `template "${name}"`;
  return things[kind];
}

const things: Readonly<Record<WaitKind, string>> = {
  template: "its template",
  host: "its host",
  place: "a place on a host",
  context: "its context",
  attempt: "its next attempt",
};
