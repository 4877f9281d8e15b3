// One resource as it changes.

import type { ResourceEventKind } from "@skerry/contract/events/resource-event";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { followEvents } from "./events.ts";

export type Resource = { readonly id: string } | { readonly name: string };

/** Reads a resource by its id, or first by its name. */
export type Read<One> = (id: string, options: CallOptions) => Promise<One>;

/**
 * Gives the resource at first and whenever it differs. `signal` ends it, or an error that does not pass by
 * itself.
 */
export async function* followResource<One extends Resource>(
  http: HttpClient,
  kind: ResourceEventKind,
  { id, read }: { readonly id: string; readonly read: Read<One> },
  options: CallOptions,
): AsyncGenerator<One, void> {
  let [known, last] = [id, ""];
  // It is followed first and read then, so that no change falls between the two. It is read anew each time,
  // because a state that was told may be older than what was read before, and not all of a template's
  // changes are told.
  for await (const change of followEvents(http, { kinds: [kind] }, options)) {
    if (change.type === "changed" && change.id !== known) continue;
    const current = await read(known, options);
    known = idOf(current);
    const text = JSON.stringify(current);
    if (text !== last) yield current;
    last = text;
  }
}

/** Names are given anew when a resource has ended, and ids are not. */
export function idOf(resource: Resource): string {
  return "id" in resource ? resource.id : resource.name;
}
