import { Type } from "typebox";
import { errorStatus, type ErrorCode } from "./errors.ts";
import { OneOf } from "./fields.ts";
import { named } from "./named.ts";

export const ErrorResponse = named(
  "Error",
  {
    code: OneOf(Object.keys(errorStatus) as ErrorCode[]),
    message: Type.String({ description: "What was wrong with this request, in one sentence." }),
    remediation: Type.Optional(Type.String({ description: "What to do about it." })),
    context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    request_id: Type.Optional(Type.String()),
  },
  {
    code: "unknown_field",
    message: 'There is no field "timout".',
    remediation: "Check the spelling; `GET /v1/openapi.json` lists the fields.",
    context: { field: "timout" },
    request_id: "req_01kb3x0q9v0a1b2c3d4e5f6g7h",
  },
);
