// What changes in a directory of a sandbox or a machine.

import { Type, type Static } from "typebox";
import { OneOf } from "../fields.ts";
import { named } from "../named.ts";

const closed = { additionalProperties: false } as const;

export const WatchQuery = Type.Object(
  {
    recursive: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Also the directories below it, those that come later too.",
      }),
    ),
  },
  closed,
);

export const fileEvents = ["start", "create", "write", "remove", "rename", "chmod", "overflow"] as const;

export const FileEvent = named(
  "FileEvent",
  {
    event: OneOf(fileEvents, {
      description:
        "`start`: it watches from here on. `rename`: it was moved away from this path; where it went within the directory, a `create` says so. `chmod`: its permissions, owner or times. `overflow`: events were lost, so look again what is there.",
    }),
    path: Type.String({ description: "From the directory that is watched; empty for the directory itself." }),
    type: OneOf(["file", "directory"], { description: "`file` is all that is no directory." }),
  },
  { event: "create", path: "src/index.ts", type: "file" },
);
export type FileEvent = Static<typeof FileEvent>;
