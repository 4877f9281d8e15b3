// The name of a sandbox or a machine.

import { Type } from "typebox";
import { NAME_MAX_CHARS } from "../bounds.ts";

export const NewVmName = Type.String({
  minLength: 1,
  maxLength: NAME_MAX_CHARS,
  description:
    "Unique among the living of its kind in the organization; paths take it in the place of the id. It may not begin as an id does (`sbx_`, `mch_`).",
});
