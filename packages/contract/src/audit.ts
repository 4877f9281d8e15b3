// Who did what to which resource.

import { Type, type Static } from "typebox";
import { Nullable, OneOf, pageOf, PageQuery, Timestamp } from "./common.ts";

const closed = { additionalProperties: false } as const;

const orNull = (description: string) => Nullable(Type.String(), { description });

export const AuditEvent = Type.Object(
  {
    id: Type.String(),
    at: Timestamp,
    actor: Type.Object(
      {
        kind: OneOf(["user", "system"]),
        user_id: orNull(
          "Null where the platform acted by itself, and where `count` refusals were not one user's.",
        ),
        token_id: orNull("The token of the request."),
        service: orNull(
          "The background service that acted, `operator` for a command on the machine of the control plane, `migration` for an upgrade; null where a user did.",
        ),
        address: orNull("Where the request came from."),
      },
      closed,
    ),
    action: Type.String({
      description: "What was done, as noun and verb.",
      examples: ["sandbox.create"],
    }),
    resource: Type.Object(
      { kind: Type.String(), id: orNull("Null where the call names none, or none that could exist.") },
      closed,
    ),
    outcome: OneOf(["success", "denied", "failure"], {
      description:
        "`denied`: the caller lacked a role or a scope. `failure`: it broke off, and may or may not have taken effect.",
    }),
    code: orNull("The error code, where the outcome is not success."),
    count: Type.Integer({
      minimum: 1,
      description:
        "How many equal calls the event stands for. More than one only where they were `denied`: of one token's refusals with the same action and code the first is an event at once, and those after it are one event at the end of each minute. That one has the request id of the last of them, and null for what they have not in common. Beyond 20 kinds of refusals in a minute the rest of an organization's are one event, `organization.refusals`.",
    }),
    request_id: orNull("That of the answer and of the line in the request log."),
    organization_id: Type.String(),
  },
  { $id: "AuditEvent", ...closed },
);
export type AuditEvent = Static<typeof AuditEvent>;

export const AuditList = pageOf(AuditEvent, "AuditList");
export type AuditList = Static<typeof AuditList>;

const text = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 100, description }));

export const AuditQuery = Type.Object(
  {
    ...PageQuery.properties,
    action: text("Only this action, such as `sandbox.create`."),
    resource_id: text("Only what was done to this resource."),
    user_id: text("Only what this user did."),
    token_id: text("Only what was done with this token."),
    since: text("Only events at or after this time, in ISO 8601."),
    until: text("Only events before this time, in ISO 8601."),
  },
  closed,
);
export type AuditQuery = Static<typeof AuditQuery>;
