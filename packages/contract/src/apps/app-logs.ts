// Lines that the instances of an app have printed, also those that are gone. With `follow` they are
// server-sent events: `line` with an `AppLogLine`, `synced` with an `AppLogsSynced`, and at the end `reset`
// with an `AppLogReset`, `error` with an `Error`, or an empty `end`.

import { Type, type Static } from "typebox";
import { CONSOLE_GREP_MAX_CHARS, CONSOLE_LINES_DEFAULT, CONSOLE_LINES_MAX } from "../bounds.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";
import { GROUP_PATTERN } from "./app-bounds.ts";

const closed = { additionalProperties: false } as const;
const time = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 100, description }));

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

export const AppLogsQuery = Type.Object(
  {
    lines: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CONSOLE_LINES_MAX,
        default: CONSOLE_LINES_DEFAULT,
        description: `The last lines of all instances together. With \`grep\`, \`level\`, \`since\` or \`until\` the lines of each instance that are looked through, and ${CONSOLE_LINES_MAX} by default.`,
      }),
    ),
    since: time("Only lines that began at or after this time, in ISO 8601."),
    until: time("Only lines that began before this time, in ISO 8601. Not with `follow`."),
    grep: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: CONSOLE_GREP_MAX_CHARS,
        description: "Only lines that contain this text, which is no pattern.",
      }),
    ),
    group: Type.Optional(
      Type.String({ pattern: GROUP_PATTERN, description: "Only instances of the group." }),
    ),
    instance: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: "Only this one: `web.1`, or a machine's id.",
      }),
    ),
    release: Type.Optional(Type.Integer({ minimum: 1, description: "Only instances of the release." })),
    deploy: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: "Only instances of the release of the deploy with this id.",
      }),
    ),
    level: Type.Optional(
      OneOf(logLevels, {
        description: "Only lines of at least this level. A line without one counts as `info`.",
      }),
    ),
    follow: Type.Optional(
      Type.Boolean({ default: false, description: "Also what comes then, as server-sent events." }),
    ),
    after: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 15_000,
        description:
          "With `follow`, in the place of the last lines: the `cursor` of a `synced` or of a `reset`, and for each machine of lines that came after it `,MACHINE_ID:POSITION` of the last one.",
      }),
    ),
  },
  closed,
);
export type AppLogsQuery = Static<typeof AppLogsQuery>;

export const AppLogLine = named(
  "AppLogLine",
  {
    at: Nullable(
      Type.String({ ...Timestamp, description: "When it began; null where its host does not know." }),
    ),
    instance: Type.String({ description: "Group and number." }),
    machine_id: Type.String(),
    release: Type.Integer(),
    level: Type.Unsafe<LogLevel | null>({
      ...{ type: ["string", "null"], enum: [...logLevels, null] },
      description:
        "As JSON (`level`, `severity` or `lvl`, also pino's numbers), logfmt (`level=`) or a word at its beginning, such as `ERROR` or `[warn]`, says; null: the line says none.",
    }),
    line: Type.String({ description: "Without its end. Bytes that are not UTF-8 are U+FFFD." }),
    position: Type.String({ description: "How far the log of its instance was read with it, for `after`." }),
  },
  {
    at: "2026-11-20T16:41:09.900Z",
    instance: "web.1",
    machine_id: "mch_01kb3x9c1e3g5j7m9p1r3t5v7x",
    release: 42,
    level: null,
    line: "listening on 8080",
    position: "18",
  },
);
export type AppLogLine = Static<typeof AppLogLine>;

export const AppLogs = named(
  "AppLogs",
  {
    lines: Type.Array(Type.Object(AppLogLine.properties, closed), { description: "By time." }),
    unavailable: Type.Array(Type.String(), {
      description: "Instances whose host cannot be asked now, so that their lines are missing.",
    }),
    read_at: { ...Timestamp, description: "Lines that come later begin later, but for some seconds." },
  },
  {
    lines: [exampleOf(AppLogLine)],
    unavailable: [],
    read_at: "2026-11-20T16:41:12.123Z",
  },
);
export type AppLogs = Static<typeof AppLogs>;

const CURSOR = "1795192872123,mch_01kb3x9c1e3g5j7m9p1r3t5v7x:18";

export const AppLogsSynced = named(
  "AppLogsSynced",
  {
    cursor: Type.String({ description: "From which a later request goes on." }),
    unavailable: Type.Array(Type.String(), {
      description: "Instances whose host cannot be asked now. Their lines come when it can.",
    }),
  },
  { cursor: CURSOR, unavailable: [] },
);
export type AppLogsSynced = Static<typeof AppLogsSynced>;

export const AppLogReset = named(
  "AppLogReset",
  {
    reason: OneOf(["shutting_down"], { description: "This server ends. Go on at once from the cursor." }),
    cursor: Type.String(),
  },
  { reason: "shutting_down", cursor: CURSOR },
);
export type AppLogReset = Static<typeof AppLogReset>;
