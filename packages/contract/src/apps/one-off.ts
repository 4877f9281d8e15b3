import { Type, type Static } from "typebox";
import { named } from "../named.ts";
import { DEFAULT_SIZE } from "../sizes.ts";

export const OneOffRequest = named(
  "OneOffRequest",
  {
    size: Type.Optional(
      Type.String({ maxLength: 100, default: DEFAULT_SIZE, description: "A name from `GET /v1/sizes`." }),
    ),
  },
  {},
);
export type OneOffRequest = Static<typeof OneOffRequest>;
