// The files of a sandbox or a machine.

import { Type, type Static } from "typebox";
import { OneOf, OTHERWISE, Timestamp } from "../fields.ts";
import { LIST_MAX_ENTRIES, UPLOAD_MAX_BYTES } from "../bounds.ts";
import { exampleOf, named } from "../named.ts";

const closed = { additionalProperties: false } as const;

export const FileWritten = named(
  "FileWritten",
  {
    path: Type.String({ description: "Absolute path in the sandbox." }),
    size: Type.Integer({ minimum: 0, maximum: UPLOAD_MAX_BYTES }),
  },
  { path: "/work/answer.py", size: 13 },
);
export type FileWritten = Static<typeof FileWritten>;

export const FileQuery = Type.Object(
  {
    list: Type.Optional(Type.Boolean({ description: "List the directory instead of reading a file." })),
  },
  closed,
);

export const FileWriteQuery = Type.Object(
  {
    mode: Type.Optional(
      Type.String({
        pattern: "^0?[0-7]{3,4}$",
        default: "0644",
        description: "Permissions, octal.",
        [OTHERWISE]: "Give permissions in octal, such as `0755`.",
      }),
    ),
  },
  closed,
);

export const DirectoryEntry = named(
  "DirectoryEntry",
  {
    name: Type.String(),
    size: Type.Integer({ minimum: 0 }),
    type: OneOf(["file", "directory", "symlink", "other"]),
    modified: Timestamp,
  },
  { name: "answer.py", size: 13, type: "file", modified: "2026-11-20T16:21:40.208Z" },
);
export type DirectoryEntry = Static<typeof DirectoryEntry>;

export const DirectoryListing = named(
  "DirectoryListing",
  {
    entries: Type.Array(DirectoryEntry),
    truncated: Type.Boolean({ description: `The directory has more than ${LIST_MAX_ENTRIES} entries.` }),
  },
  { entries: [exampleOf(DirectoryEntry)], truncated: false },
);
export type DirectoryListing = Static<typeof DirectoryListing>;
