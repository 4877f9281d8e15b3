// The schemas of `GET /v1/events`.

import { Type, type Static } from "typebox";
import { PAGE_DEFAULT, PAGE_MAX } from "../bounds.ts";
import { exampleIds } from "../example-ids.ts";
import { OneOf } from "../fields.ts";
import { exampleOf, named } from "../named.ts";
import { Sandbox } from "../sandboxes/sandbox.ts";
import { eventResets, resourceEventKinds, type ResourceEvent as EventOfKind } from "./resource-event.ts";

const words = resourceEventKinds.join("|");

export const EventQuery = Type.Object(
  {
    after: Type.Optional(
      Type.String({
        maxLength: 100,
        description:
          "The cursor up to which the events are known. `latest`: none are wanted, but the cursor of this moment. Default: `latest`.",
      }),
    ),
    kind: Type.Optional(
      Type.String({
        maxLength: 200,
        pattern: `^(${words})(,(${words}))*$`,
        description: `Only these kinds, separated by commas: ${resourceEventKinds.map((kind) => `\`${kind}\``).join(", ")}. Default: all that the token may read.`,
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: PAGE_MAX,
        default: PAGE_DEFAULT,
        description: "Of items in an answer of JSON.",
      }),
    ),
  },
  { additionalProperties: false },
);

const CURSOR = "5d41402a.48213.0.1763655669";

export const ResourceEvent = named(
  "ResourceEvent",
  {
    kind: OneOf(resourceEventKinds),
    id: Type.String({ description: "Of the resource; the name of a background service." }),
    version: Type.Integer({
      description:
        "Of the resource: it grows with each change of its state. One that is lower than what is known already is old.",
    }),
    // No union of what it can be: a serializer would have to try one after the other.
    resource: Type.Unsafe<EventOfKind["resource"]>({
      type: ["object", "null"],
      additionalProperties: true,
      description: "Its newest state, as its own GET answers it. Null: that answers 404 now.",
    }),
  },
  { kind: "sandbox", id: exampleIds.sandbox, version: 2, resource: exampleOf(Sandbox) },
);

const reset = OneOf(eventResets, {
  description:
    "`too_old`: the cursor is more than a day old. `other_database`: it comes from another state of the database, which was restored from a backup since.",
});

export const EventReset = named(
  "EventReset",
  {
    reason: reset,
    cursor: Type.String({ description: "Of this moment: list what is shown, then go on from here." }),
  },
  { reason: "too_old", cursor: CURSOR },
);
export type EventReset = Static<typeof EventReset>;

export const EventsSynced = named(
  "EventsSynced",
  {
    cursor: Type.String({ description: "Everything before it was told." }),
    now: Type.String({ format: "date-time", description: "By the database's clock." }),
  },
  { cursor: CURSOR, now: "2026-11-20T16:21:09.123Z" },
);
export type EventsSynced = Static<typeof EventsSynced>;

export const ResourceEventPage = named(
  "ResourceEventPage",
  {
    items: Type.Array(ResourceEvent, {
      description: "In the order of the changes; each resource at most once.",
    }),
    cursor: Type.String({ description: "What to ask for next, as `after`." }),
    more: Type.Boolean({ description: "There are more by now." }),
    reset: Type.Unsafe<EventReset["reason"] | null>({
      type: ["string", "null"],
      enum: [...eventResets, null],
      description:
        "Not null: `after` cannot be gone on from, for this reason. List what is shown anew, then go on from `cursor`.",
    }),
  },
  { items: [exampleOf(ResourceEvent)], cursor: CURSOR, more: false, reset: null },
);
