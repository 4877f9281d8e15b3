// The calls of the host API about the files of a guest, beside those that read and write one (`vm.ts`). Each names the incarnation that it
// means (`execution_id`), like all calls.
//
//   GET    /vms/{id}/directory?path=&depth=&limit=   DirectoryListing
//   PUT    /vms/{id}/directory?path=&mode=           FileInfo; the missing folders above it are made, and one that is there stays as it is
//   GET    /vms/{id}/entry?path=&follow=             FileInfo
//   PATCH  /vms/{id}/entry          ChangeEntry      FileInfo of what it is now
//   DELETE /vms/{id}/entry?path=&recursive=          204
//   GET    /vms/{id}/archive?path=                   what is in a folder, as tar
//   PUT    /vms/{id}/archive?path=      tar          204; unpacked into the folder, which is made where it is missing
//   GET    /vms/{id}/watch?path=&recursive=          frames: HEAD `{}` when it watches, DATA (one FileEvent each), PING every 10 s, then CLOSE
//                                                    `{}` (the folder is gone) or RESET (ErrorBody; `vm_moving`: watch again)

import { Type, type Static } from "typebox";
import { LIST_MAX_DEPTH, LIST_MAX_ENTRIES } from "../bounds.ts";

const closed = { additionalProperties: false } as const;

const place = {
  execution_id: Type.String({ maxLength: 64 }),
  path: Type.String({ maxLength: 20_000 }),
};
const ModeBits = Type.Integer({ minimum: 0, maximum: 0o7777 });

export const ListHostQuery = Type.Object(
  {
    ...place,
    // A host of an earlier version knows neither, so they are not sent where they say nothing.
    depth: Type.Optional(Type.Integer({ minimum: 1, maximum: LIST_MAX_DEPTH })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIST_MAX_ENTRIES })),
  },
  closed,
);

export const WatchHostQuery = Type.Object({ ...place, recursive: Type.Boolean() }, closed);
export const MakeDirectoryQuery = Type.Object({ ...place, mode: ModeBits }, closed);
export const EntryQuery = Type.Object({ ...place, follow: Type.Boolean() }, closed);
export const RemoveEntryQuery = Type.Object({ ...place, recursive: Type.Boolean() }, closed);

/** One of both: where it is moved, or its new permissions. */
export const ChangeEntry = Type.Object(
  { ...place, to: Type.Optional(Type.String({ maxLength: 20_000 })), mode: Type.Optional(ModeBits) },
  closed,
);
export type ChangeEntry = Static<typeof ChangeEntry>;
