// Organizations, who is in them, and who is calling.

import { Type, type Static } from "typebox";
import { roles } from "./roles.ts";
import { exampleOf, named } from "../named.ts";
import { formatDuration } from "../durations.ts";
import { Duration, Nullable, OneOf, OTHERWISE, Timestamp } from "../fields.ts";
import { pageOf } from "../page.ts";
import { exampleIds } from "../example-ids.ts";
import { EgressMode } from "../vms/egress.ts";
import { Scopes, TokenCreated } from "./token.ts";

const Name = Type.String({ minLength: 1, maxLength: 100, description: "For people; need not be unique." });
const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: "^[^@\\s]+@[^@\\s]+$",
  [OTHERWISE]: "Give an address such as `ada@example.org`.",
});
const RoleName = (description: string) => OneOf(roles, { description });
const EgressDefault = {
  ...EgressMode,
  description: "The egress mode of sandboxes whose request names neither a mode nor allowed CIDRs.",
};

const AuditDetails = Type.Boolean({
  description:
    "Whether its audit log keeps commands and paths of files; off by default. A command may hold secrets, which those who may read the log then see. It counts within seconds.",
});

export const Organization = named(
  "Organization",
  {
    id: Type.String(),
    name: Name,
    egress_default: EgressDefault,
    allowed_private_cidrs: Type.Array(Type.String(), {
      description:
        "Private networks that its sandboxes and machines may allow in `egress.allow_cidrs`. Only the operator grants them.",
      examples: [["10.20.0.0/16"]],
    }),
    audit_details: AuditDetails,
    role: RoleName("Yours in it."),
    created_at: Timestamp,
  },
  {
    id: exampleIds.organization,
    name: "Example Ltd",
    egress_default: "allow_all",
    allowed_private_cidrs: [],
    audit_details: false,
    role: "owner",
    created_at: "2026-11-20T16:20:00.000Z",
  },
);
export type Organization = Static<typeof Organization>;

export const OrganizationList = pageOf(Organization, "OrganizationList");
export type OrganizationList = Static<typeof OrganizationList>;

export const OrganizationCreateRequest = named(
  "OrganizationCreateRequest",
  { name: Name, egress_default: Type.Optional({ ...EgressDefault, default: "allow_all" }) },
  { name: "Example Ltd" },
);
export type OrganizationCreateRequest = Static<typeof OrganizationCreateRequest>;

export const OrganizationUpdateRequest = named(
  "OrganizationUpdateRequest",
  {
    name: Type.Optional(Name),
    egress_default: Type.Optional(EgressDefault),
    audit_details: Type.Optional(AuditDetails),
  },
  { egress_default: "deny_all" },
);
export type OrganizationUpdateRequest = Static<typeof OrganizationUpdateRequest>;

const memberFields = {
  user_id: Type.String(),
  name: Name,
  email: Nullable(Email),
  role: RoleName(
    "`viewer` reads, `member` also works with sandboxes, `admin` also manages members, `owner` also owners.",
  ),
  created_at: Timestamp,
};

const exampleMember = {
  user_id: exampleIds.user,
  name: "Ada",
  email: "ada@example.org",
  role: "member" as const,
  created_at: "2026-11-20T16:21:09.123Z",
};

export const Member = named("Member", memberFields, exampleMember);
export type Member = Static<typeof Member>;

export const MemberList = pageOf(Member, "MemberList");
export type MemberList = Static<typeof MemberList>;

/** The lifetime of a member's first token that is not used: by default, and at most. */
export const INVITATION_DEFAULT_MS = 7 * 24 * 3_600_000;
export const INVITATION_MAX_MS = 90 * 24 * 3_600_000;

export const MemberAddRequest = named(
  "MemberAddRequest",
  {
    name: Type.Optional({ ...Name, description: "Of a new user. Either this or `user_id`." }),
    email: Type.Optional({ ...Email, description: "Of a new user; for people, nothing is sent there." }),
    user_id: Type.Optional(Type.String({ description: "A user who exists already. Either this or `name`." })),
    role: RoleName("The highest that you can give is your own."),
    expires_in: Type.Optional(
      Type.String({
        ...Duration,
        default: formatDuration(INVITATION_DEFAULT_MS),
        examples: ["24h"],
        description: `When the first token ends where it is not used until then, at most ${formatDuration(INVITATION_MAX_MS)}. Its first use makes it a token like others, which lasts until it is revoked.`,
      }),
    ),
  },
  { name: "Ada", email: "ada@example.org", role: "member" },
);
export type MemberAddRequest = Static<typeof MemberAddRequest>;

export const MemberAdded = named(
  "MemberAdded",
  {
    ...memberFields,
    // A first one for the new member, bound to the organization. It has the scopes of the token that asks and ends no later.
    token: TokenCreated,
  },
  {
    ...exampleMember,
    token: {
      ...exampleOf(TokenCreated),
      name: "invitation",
      scopes: ["*"],
      bound: true,
      expires_at: "2026-11-27T16:21:09.123Z",
    },
  },
);
export type MemberAdded = Static<typeof MemberAdded>;

export const MemberUpdateRequest = named(
  "MemberUpdateRequest",
  { role: RoleName("The highest that you can give is your own.") },
  { role: "admin" },
);
export type MemberUpdateRequest = Static<typeof MemberUpdateRequest>;

/** Who is calling, where, and what the token of the call can do there. */
export const Me = named(
  "Me",
  {
    user_id: Type.String(),
    name: Name,
    email: Nullable(Email),
    organization_id: Type.String({ description: "The one that this request is for." }),
    organization_name: Name,
    role: RoleName("Yours in this organization."),
    token_id: Type.String(),
    token_name: Type.String(),
    scopes: { ...Scopes, minItems: 0, description: "What the token can really do here." },
    expires_at: Nullable(Timestamp),
  },
  {
    user_id: exampleIds.user,
    name: "Ada",
    email: "ada@example.org",
    organization_id: exampleIds.organization,
    organization_name: "Example Ltd",
    role: "member",
    token_id: exampleIds.token,
    token_name: "ci",
    scopes: exampleOf(TokenCreated).scopes,
    expires_at: exampleOf(TokenCreated).expires_at,
  },
);
export type Me = Static<typeof Me>;
