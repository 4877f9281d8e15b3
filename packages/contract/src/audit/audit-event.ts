// Who did what to which resource.

import { Type, type Static } from "typebox";
import { named } from "../named.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { pageOf, PageQuery } from "../page.ts";
import { auditFormats } from "./audit-formats.ts";
import { exampleIds } from "../example-ids.ts";

const closed = { additionalProperties: false } as const;

const orNull = (description: string) => Nullable(Type.String(), { description });

export const AuditEvent = named(
  "AuditEvent",
  {
    id: Type.String(),
    at: Timestamp,
    actor: Type.Object(
      {
        kind: OneOf(["user", "system"]),
        user_id: orNull(
          "Null where the platform acted by itself, and where `count` refusals were not one user's.",
        ),
        user_name: orNull("What the user is called now."),
        token_id: orNull("The token of the request."),
        token_name: orNull("What the token is called."),
        service: orNull(
          "The background service that acted, `operator` for what the operator of the platform changed, `migration` for an upgrade, `port-visitor` for a request to a port that needed no token; null where a user did.",
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
      {
        kind: Type.String(),
        id: orNull("Null where the call names none, or none that could exist."),
        name: orNull("What it is called now; null where it has no name, or is gone."),
      },
      closed,
    ),
    detail: orNull(
      "The command that was executed or the path of the file that was uploaded, at most 1,000 characters of it, where the organization has set `audit_details`. Never an environment, what a command reads, or what is in a file.",
    ),
    outcome: OneOf(["success", "denied", "failure"], {
      description:
        "`denied`: the caller lacked a role or a scope. `failure`: it broke off, and may or may not have taken effect.",
    }),
    code: orNull("The error code, where the outcome is not success."),
    count: Type.Integer({
      minimum: 1,
      description:
        "How many equal calls the event stands for. More than one where they were `denied`, or where the organization has made more than 100,000 calls of the day at one server: of one token's calls with the same action and code the first is an event at once, and those after it are one event at the end of each minute. That one has the request id of the last of them, and null for what they have not in common. Beyond 5 kinds of a token in a minute, and 20 of an organization, the rest of each token's are one event, `organization.refusals` or `organization.calls`.",
    }),
    request_id: orNull("That of the answer and of the line in the request log."),
    organization_id: Type.String(),
  },
  {
    id: "aud_01kb3x2m4n6p8q0r2s4t6v8w0x",
    at: "2026-11-20T16:21:09.423Z",
    actor: {
      kind: "user",
      user_id: exampleIds.user,
      user_name: "Ada",
      token_id: exampleIds.token,
      token_name: "laptop",
      service: null,
      address: "192.0.2.7",
    },
    action: "sandbox.create",
    resource: { kind: "sandbox", id: exampleIds.sandbox, name: "web" },
    detail: null,
    outcome: "success",
    code: null,
    count: 1,
    request_id: "req_01kb3x0q9v0a1b2c3d4e5f6g7h",
    organization_id: exampleIds.organization,
  },
);
export type AuditEvent = Static<typeof AuditEvent>;

export const AuditList = pageOf(AuditEvent, "AuditList");
export type AuditList = Static<typeof AuditList>;

const text = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 100, description }));

const filters = {
  action: text("Only this action, such as `sandbox.create`. One that there is not is refused."),
  resource_id: text("Only what was done to this resource."),
  user_id: text("Only what this user did."),
  token_id: text("Only what was done with this token."),
  since: text("Only events at or after this time, in ISO 8601."),
  until: text("Only events before this time, in ISO 8601."),
};

export const AuditQuery = Type.Object({ ...PageQuery.properties, ...filters }, closed);
export type AuditQuery = Static<typeof AuditQuery>;

export const AuditExportQuery = Type.Object(
  {
    ...filters,
    format: Type.Optional(
      OneOf(auditFormats, {
        default: "ndjson",
        description:
          "`ndjson`: an event a line, as the list has them. `csv`: RFC 4180 with a header; a cell that a spreadsheet would take for a formula begins with an apostrophe, and control characters are `\\x0a`.",
      }),
    ),
  },
  closed,
);
export type AuditExportQuery = Static<typeof AuditExportQuery>;
