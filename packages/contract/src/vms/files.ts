// The files of a sandbox or a machine.

import { Type, type Static } from "typebox";
import { OneOf, OTHERWISE, Timestamp } from "../fields.ts";
import {
  ATTRIBUTES_MAX_BYTES,
  LIST_MAX_BYTES,
  LIST_MAX_DEPTH,
  LIST_MAX_ENTRIES,
  PATH_MAX_BYTES,
} from "../bounds.ts";
import { exampleOf, named } from "../named.ts";

const closed = { additionalProperties: false } as const;

export const FileWritten = named(
  "FileWritten",
  {
    path: Type.String({ description: "Absolute path in the sandbox." }),
    size: Type.Integer({ minimum: 0, description: "Bytes." }),
  },
  { path: "/work/answer.py", size: 13 },
);
export type FileWritten = Static<typeof FileWritten>;

const Signature = Type.Optional(
  Type.String({ maxLength: 100, description: "Of a signed URL, which needs no token." }),
);

export const FileQuery = Type.Object(
  {
    _skerry: Signature,
    list: Type.Optional(Type.Boolean({ description: "List the directory instead of reading a file." })),
    depth: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIST_MAX_DEPTH,
        default: 1,
        description: "Of a list: how many levels below the directory. Links are not followed.",
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIST_MAX_ENTRIES,
        default: LIST_MAX_ENTRIES,
        description: "Of a list: how many entries it has at most; `truncated` says that there are more.",
      }),
    ),
  },
  closed,
);

export const Mode = Type.String({
  pattern: "^0?[0-7]{3,4}$",
  description: "Permissions, octal.",
  [OTHERWISE]: "Give permissions in octal, such as `0755`.",
});

export const FileWriteQuery = Type.Object(
  {
    mode: Type.Optional(
      Type.String({
        ...Mode,
        description:
          "Permissions, octal. Without it a file that is there keeps its own, and a new one has `0644`.",
      }),
    ),
    attributes: Type.Optional(
      Type.String({
        maxLength: 2 * ATTRIBUTES_MAX_BYTES,
        description:
          'Extended attributes of the file, as a JSON object of text, such as `{"author":"Ada"}`, which the microVM has as `user.author`. At most 4 KiB.',
      }),
    ),
    _skerry: Signature,
  },
  closed,
);

export const DirectoryQuery = Type.Object(
  { mode: Type.Optional(Type.String({ ...Mode, default: "0755" })) },
  closed,
);

export const StatQuery = Type.Object(
  {
    follow: Type.Optional(
      Type.Boolean({ default: false, description: "Of a symbolic link, tell what it leads to." }),
    ),
  },
  closed,
);

export const RemoveQuery = Type.Object(
  {
    recursive: Type.Optional(
      Type.Boolean({ default: false, description: "Remove a directory with all that is in it." }),
    ),
  },
  closed,
);

export const FileChange = named(
  "FileChange",
  {
    path: Type.Optional(
      Type.String({
        maxLength: PATH_MAX_BYTES,
        description:
          "Move it here: an absolute path. A file, or an empty directory, that is there is replaced.",
      }),
    ),
    mode: Type.Optional(Mode),
  },
  { path: "/work/answers/first.py" },
);
export type FileChange = Static<typeof FileChange>;

const entryFields = {
  name: Type.String(),
  size: Type.Integer({ minimum: 0, description: "Bytes." }),
  type: OneOf(["file", "directory", "symlink", "other"]),
  modified: Timestamp,
};
const ShownMode = Type.String({ description: "Permissions, octal, such as `0644`." });
const Owner = Type.String({ description: "Name of the user that it belongs to, or its number." });
const Group = Type.String({ description: "Name of the group that it belongs to, or its number." });
const Target = Type.Optional(
  Type.String({ description: "Of a symbolic link: where it leads, as it is written there." }),
);
const Attributes = Type.Optional(
  Type.Record(Type.String(), Type.String(), {
    description:
      "Extended attributes that users have set there, by their names without `user.`; those whose values are text, of at most 4 KiB together. Absent where there are none.",
  }),
);

export const FileInfo = named(
  "FileInfo",
  {
    path: Type.String({ description: "Absolute path in the microVM." }),
    ...entryFields,
    mode: ShownMode,
    owner: Owner,
    group: Group,
    target: Target,
    attributes: Attributes,
  },
  {
    path: "/work/answer.py",
    name: "answer.py",
    size: 13,
    type: "file",
    modified: "2026-11-20T16:21:40.208Z",
    mode: "0644",
    owner: "root",
    group: "root",
  },
);
export type FileInfo = Static<typeof FileInfo>;

export const DirectoryEntry = named(
  "DirectoryEntry",
  {
    ...entryFields,
    path: Type.Optional(
      Type.String({ description: "From the directory that is listed, where the list goes below it." }),
    ),
    // A microVM that was started by an earlier version does not tell them.
    mode: Type.Optional(ShownMode),
    owner: Type.Optional(Owner),
    group: Type.Optional(Group),
    target: Target,
    attributes: Attributes,
  },
  {
    name: "answer.py",
    size: 13,
    type: "file",
    modified: "2026-11-20T16:21:40.208Z",
    mode: "0644",
    owner: "root",
    group: "root",
  },
);
export type DirectoryEntry = Static<typeof DirectoryEntry>;

export const DirectoryListing = named(
  "DirectoryListing",
  {
    entries: Type.Array(DirectoryEntry),
    truncated: Type.Boolean({
      description: `There are more entries than \`limit\`, or than ${LIST_MAX_BYTES / 1024 / 1024} MiB of them.`,
    }),
  },
  { entries: [exampleOf(DirectoryEntry)], truncated: false },
);
export type DirectoryListing = Static<typeof DirectoryListing>;
