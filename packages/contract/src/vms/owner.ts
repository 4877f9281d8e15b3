// The resource that a microVM belongs to: an app, a database, a run. It makes and ends the microVM, which
// otherwise is a sandbox or a machine like others.

import { Type, type Static } from "typebox";
import { NAME_MAX_CHARS } from "../bounds.ts";
import { Nullable } from "../fields.ts";

export const VmOwner = Type.Object(
  {
    kind: Type.String({ description: "Such as `app`." }),
    id: Type.String(),
    name: Nullable(Type.String()),
  },
  { additionalProperties: false },
);
export type VmOwner = Static<typeof VmOwner>;

export const shownOwner = Nullable(VmOwner, {
  description:
    "The resource that it belongs to, which makes and ends it: calls that would take it away answer `owned`. Null: it was created by a call of its own.",
});

/** `none`, `any`, `KIND`, or `KIND:ID-OR-NAME`. No kind of resource is called like the first two. */
export const OwnerFilter = Type.String({
  pattern: "^[a-z][a-z_]{0,29}(:.+)?$",
  maxLength: 40 + NAME_MAX_CHARS,
  description:
    "What they belong to: `none`, `any` (as without the filter), a kind of resource such as `app`, or one of them, such as `app:shop` with its name or its id.",
});
