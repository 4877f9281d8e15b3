// What control does by itself, again and again.

import { Type, type Static } from "typebox";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";

const count = (description: string) => Nullable(Type.Integer({ minimum: 0, description }));

export const BackgroundService = named(
  "BackgroundService",
  {
    name: Type.String(),
    status: OneOf(["running", "waiting"], { description: "On whichever replica." }),
    due_at: Nullable(Type.String({ ...Timestamp, description: "When it runs next. Null: at once." })),
    last_run: Nullable(
      Type.Object(
        {
          ended_at: Timestamp,
          duration_ms: Type.Number({ minimum: 0 }),
          outcome: OneOf(["success", "failure"], {
            description: "`failure`: it broke off; the log of control says why. Its next turn is its retry.",
          }),
          examined: count("What it looked at."),
          changed: count("What it did something about."),
          failed: count("What it could do nothing about; it tries again."),
        },
        { additionalProperties: false },
      ),
      { description: "Null: it has not run yet." },
    ),
  },
  {
    name: "sandbox-reaper",
    status: "waiting",
    due_at: "2026-11-20T16:21:19.123Z",
    last_run: {
      ended_at: "2026-11-20T16:21:09.123Z",
      duration_ms: 3.4,
      outcome: "success",
      examined: 2,
      changed: 2,
      failed: 0,
    },
  },
);
export type BackgroundService = Static<typeof BackgroundService>;

export const BackgroundServiceList = named(
  "BackgroundServiceList",
  { items: Type.Array(BackgroundService) },
  { items: [exampleOf(BackgroundService)] },
);
export type BackgroundServiceList = Static<typeof BackgroundServiceList>;
