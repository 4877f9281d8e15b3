// The console log of a machine, for its readers.

import { Type, type Static } from "typebox";
import { CONSOLE_GREP_MAX_CHARS, CONSOLE_LINES_DEFAULT, CONSOLE_LINES_MAX } from "../bounds.ts";
import { named } from "../named.ts";

const TIMES =
  "The host notes times ten times in a second; lines from before an upgrade have none, and are left out.";

const closed = { additionalProperties: false } as const;
const text = (description: string) => Type.String({ minLength: 1, maxLength: 100, description });

export const MachineLogsQuery = Type.Object(
  {
    lines: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: CONSOLE_LINES_MAX,
        default: CONSOLE_LINES_DEFAULT,
        description: `The last lines of the log. With \`grep\`, \`since\` or \`until\` the lines that are looked through, and ${CONSOLE_LINES_MAX} by default.`,
      }),
    ),
    follow: Type.Optional(
      Type.Boolean({ default: false, description: "Also what comes then, as server-sent events." }),
    ),
    grep: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: CONSOLE_GREP_MAX_CHARS,
        description: "Only lines that contain this text, which is no pattern; upper and lower case differ.",
      }),
    ),
    since: Type.Optional(text(`Only lines that began at or after this time, in ISO 8601. ${TIMES}`)),
    until: Type.Optional(text("Only lines that began before this time, in ISO 8601. Not with `follow`.")),
    kernel: Type.Optional(
      Type.Boolean({
        default: true,
        description: "`false`: without lines that begin as those of a kernel do, such as `[    1.234567] `.",
      }),
    ),
    timestamps: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Each line begins with the time at which it began, and a blank; `-` where that is not known.",
      }),
    ),
  },
  closed,
);
export type MachineLogsQuery = Static<typeof MachineLogsQuery>;

export const MachineLogs = named(
  "MachineLogs",
  {
    lines: Type.Array(
      Type.String({
        description:
          "Without its end of line. Bytes that are not UTF-8 are U+FFFD; control characters are as the guest wrote them.",
      }),
    ),
  },
  { lines: ["worker: ready", "worker: 3 messages sent"] },
);
export type MachineLogs = Static<typeof MachineLogs>;
