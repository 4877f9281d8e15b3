import {
  EventQuery,
  EventReset,
  EventsSynced,
  ResourceEvent,
  ResourceEventPage,
} from "@skerry/contract/events/event-schemas";
import type { Operations } from "../api/operation.ts";

export const eventOperations = {
  followEvents: {
    surface: "v1",
    method: "GET",
    path: "/v1/events",
    tag: "events",
    summary: "Follow what changes",
    description:
      "What has changed in the organization after a cursor, with the newest state of each resource that the token may read. Take a cursor first (`after=latest`), then " +
      "list what is shown, then go on from the cursor: no change is left out, also across broken connections and other replicas. What " +
      "changes often is told once, with its newest state.\n\n" +
      "With `Accept: text/event-stream` the answer is a stream of server-sent events that does not end: events named after their kind with a `ResourceEvent`, " +
      "and the cursor as their `id`; `synced` with an `EventsSynced` when everything was told, every 15 s at least; `reset` with an `EventReset` where the cursor cannot " +
      "be gone on from; at the end one `error` with an `Error`. `Last-Event-ID` counts more than `after`. A token has 8 streams at once, and an organization 64, " +
      "on each replica.",
    query: EventQuery,
    answers: { 200: ResourceEventPage },
    events: [ResourceEvent, EventsSynced, EventReset],
    access: { scope: null, role: "viewer", rate: "read" },
    audit: { action: "event.follow", resource: "organization" },
    errors: ["too_many_streams"],
  },
} as const satisfies Operations;
