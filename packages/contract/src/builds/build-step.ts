// A step of a build, as `/v1` shows it.

import { Type } from "typebox";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { buildStepStatuses } from "./build-status.ts";

export const BuildStep = Type.Object(
  {
    kind: Type.String(),
    name: Type.String({ description: "What it does, to be shown." }),
    status: OneOf(buildStepStatuses),
    started_at: Nullable(Timestamp),
    finished_at: Nullable(Timestamp),
    exit_code: Nullable(Type.Integer()),
    cache_hit: Type.Boolean({ description: "Its result was cached, so it was not carried out." }),
    bytes: Nullable(
      Type.Integer({
        description:
          "Of the layer that it has left. Null where what it has left is in the layer of a later step.",
      }),
    ),
  },
  { additionalProperties: false },
);
