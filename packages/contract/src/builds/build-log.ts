// What a build has written, as `/v1` shows it.

import { Type, type Static } from "typebox";
import { Nullable, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";

const closed = { additionalProperties: false } as const;

export const BuildLogQuery = Type.Object(
  {
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: "Only lines after this one. Default: 0, from the first line.",
      }),
    ),
    follow: Type.Optional(Type.Boolean({ description: "Server-sent events, until the build has ended." })),
  },
  closed,
);

export const BuildLogLine = named(
  "BuildLogLine",
  {
    line: Type.Integer({ description: "Its number, from 1." }),
    step: Nullable(Type.Integer({ description: "Its place in `steps`; null: of no step." })),
    time: Timestamp,
    text: Type.String(),
  },
  { line: 1, step: 0, time: "2026-11-20T16:41:10.123Z", text: "Reading package lists..." },
);
export type BuildLogLine = Static<typeof BuildLogLine>;

export const BuildLog = named(
  "BuildLog",
  {
    lines: Type.Array(BuildLogLine),
    more: Type.Boolean({ description: "There are more by now: ask with `after`." }),
  },
  {
    lines: [exampleOf(BuildLogLine)],
    more: false,
  },
);
export type BuildLog = Static<typeof BuildLog>;
