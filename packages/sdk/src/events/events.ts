// What changes in the organization, across broken connections and servers that are restarted.

import type { EventReset, EventsSynced } from "@skerry/contract/events/event-schemas";
import type {
  ResourceEvent,
  ResourceEventKind,
  ResourceEventPage,
} from "@skerry/contract/events/resource-event";
import { SkerryApiError } from "../errors/api-errors.ts";
import { errorOfEvent, errorOfStream, SkerryConnectionError } from "../errors/errors.ts";
import { readEvents, type ServerEvent } from "../http/event-stream.ts";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { pageQuery } from "../http/pages.ts";
import { pause } from "../http/retries.ts";

export interface EventFilter {
  /** Goes on after this cursor. Default: from now on. */
  readonly after?: string | undefined;
  /** Default: all that the token may read. */
  readonly kinds?: readonly ResourceEventKind[] | undefined;
}

/**
 * `changed`: a resource, with its newest state. `synced`: everything up to `cursor` was told; comes every 15 s at least. `reset`: what was known is too
 * old to be gone on from: list it anew; what changes from here on is told. Each `cursor` is one to go on after.
 */
export type FollowedChange =
  | ({ readonly type: "changed"; readonly cursor: string } & ResourceEvent)
  | ({ readonly type: "synced" } & EventsSynced)
  | ({ readonly type: "reset" } & EventReset);

const FIRST_PAUSE_MS = 250;
const PAUSE_MAX_MS = 30_000;

/** Ends with the signal alone, or with an error that does not pass by itself. */
export async function* followEvents(
  http: HttpClient,
  { after, kinds }: EventFilter,
  { signal }: CallOptions,
): AsyncGenerator<FollowedChange, void> {
  let [cursor, failures] = [after, 0];
  for (;;) {
    try {
      for await (const change of streamOnce(http, { after: cursor, kinds }, { signal })) {
        ({ cursor } = change);
        failures = 0;
        yield change;
      }
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
    failures += 1;
    // Half of it by chance, so that clients that failed together do not come back together.
    const waitMs = Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10));
    await pause(waitMs * (0.5 + Math.random() / 2), signal);
  }
}

/** One page of what has changed after a cursor; without one, the cursor of this moment. */
export function readEventPage(
  http: HttpClient,
  { after, kinds, limit }: EventFilter & { readonly limit?: number | undefined },
  options: CallOptions,
): Promise<ResourceEventPage> {
  const query = { after, kind: kinds?.join(","), ...pageQuery({ limit }) };
  return http.json<ResourceEventPage>({ method: "GET", path: "/v1/events", query }, options);
}

async function* streamOnce(
  http: HttpClient,
  { after, kinds }: EventFilter,
  { signal }: CallOptions,
): AsyncGenerator<FollowedChange, void> {
  const query = { after, kind: kinds?.join(",") };
  const headers = { accept: "text/event-stream" };
  const chunks = await http.open({ method: "GET", path: "/v1/events", query, headers }, { signal });
  try {
    for await (const event of readEvents(chunks)) {
      const change = changeOf(event);
      if (change !== undefined) yield change;
    }
  } catch (error) {
    throw errorOfStream(error, http.baseUrl);
  }
}

/** Undefined for events that a newer server may add. */
function changeOf({ event, data, id }: ServerEvent): FollowedChange | undefined {
  const told = JSON.parse(data) as unknown;
  if (event === "error") throw errorOfEvent(told) ?? new TypeError("an error without a code");
  // The server's word for it; the client does not validate.
  if (event === "synced") return { type: "synced", ...(told as EventsSynced) };
  if (event === "reset") return { type: "reset", ...(told as EventReset) };
  const isChange = id !== undefined && typeof told === "object" && told !== null && "resource" in told;
  return isChange ? { type: "changed", cursor: id, ...(told as ResourceEvent) } : undefined;
}

const passing: ReadonlySet<string> = new Set([
  "database_unavailable",
  "internal",
  "rate_limited",
  "shutting_down",
  "too_many_streams",
]);

function isPassing(error: unknown): boolean {
  if (error instanceof SkerryConnectionError) return true;
  return error instanceof SkerryApiError && passing.has(error.code);
}
