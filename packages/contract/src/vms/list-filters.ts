// What lists of sandboxes and of machines are filtered by, beside their statuses, and whether they are counted.

import { Type } from "typebox";
import { TEMPLATE_REFERENCE_MAX_CHARS } from "../bounds.ts";
import { OwnerFilter } from "./owner.ts";

export const vmListFilters = {
  template: Type.Optional(
    Type.String({
      maxLength: TEMPLATE_REFERENCE_MAX_CHARS,
      description: "What they were made of: a name, with all of its versions, or one version.",
    }),
  ),
  host: Type.Optional(Type.String({ maxLength: 100, description: "Id of the host that they are on." })),
  owner: Type.Optional(OwnerFilter),
  q: Type.Optional(
    Type.String({ maxLength: 100, description: "What their name, or their id, begins with." }),
  ),
  created_after: Type.Optional(
    Type.String({ maxLength: 40, description: "Only those made after this time, in ISO 8601." }),
  ),
  counts: Type.Optional(
    Type.Boolean({
      description:
        "`true`: the answer has `counts` too, of all that pass the other filters, whatever their status.",
    }),
  ),
};
