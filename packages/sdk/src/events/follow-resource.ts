// One resource as it changes, and the wait for a status of it.

import type { ResourceEventKind } from "@skerry/contract/events/resource-event";
import { SkerryStatusError } from "../errors/errors.ts";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { followEvents } from "./events.ts";

/** Reads it anew with each change, because a state that was told may be older than what was read before. */
export async function* followResource<Resource extends { readonly id: string } | { readonly name: string }>(
  http: HttpClient,
  kind: ResourceEventKind,
  read: (options: CallOptions) => Promise<Resource>,
  options: CallOptions,
): AsyncGenerator<Resource, void> {
  let id: string | undefined;
  // It is followed first and read then, so that no change falls between the two.
  for await (const change of followEvents(http, { kinds: [kind] }, options)) {
    const isNews = change.type === "changed" ? change.id === id : change.type === "reset" || id === undefined;
    if (!isNews) continue;
    const current = await read(options);
    id = "id" in current ? current.id : current.name;
    yield current;
  }
}

/** Statuses that a resource does not leave by itself. */
const ended: ReadonlySet<string> = new Set(["canceled", "destroyed", "failed"]);

export async function waitForStatus<Status extends string, Resource extends { readonly status: Status }>(
  states: AsyncGenerator<Resource, void>,
  until: Status | readonly Status[],
): Promise<Resource> {
  const wanted: readonly string[] = [until].flat();
  for await (const state of states) {
    if (wanted.includes(state.status)) return state;
    if (ended.has(state.status)) throw new SkerryStatusError(state, wanted);
  }
  throw new Error("what follows a resource ends by an error alone");
}
