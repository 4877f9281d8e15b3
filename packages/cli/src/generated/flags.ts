// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

/** A flag for one field of a query or of a body. */
export interface Flag {
  /** Name in the API. */
  readonly field: string;
  readonly help: string;
  readonly kind: "text" | "number" | "boolean" | "list" | "pairs";
  /** Word for its value in the help. */
  readonly placeholder: string;
  /** Values that it can have. */
  readonly words?: readonly string[];
}

export const flags = {
  listSnapshots: [
    {
      field: "of",
      help: "only snapshots of sandboxes, or of machines",
      kind: "text",
      placeholder: "word",
      words: ["sandbox", "machine"],
    },
  ],
  createApp: [
    {
      field: "name",
      help: "letters, digits and dashes: it is part of the app's address",
      kind: "text",
      placeholder: "name",
    },
    {
      field: "scale",
      help: "instances of each group, at most 20. Groups that are left out have one",
      kind: "pairs",
      placeholder: "KEY=VALUE",
    },
  ],
  getAppMetrics: [
    {
      field: "since",
      help: "a time in ISO 8601, such as 2026-11-20T16:00:00Z. Default: all that is kept, 24 hours",
      kind: "text",
      placeholder: "since",
    },
    { field: "step", help: "length of a step, from 5m to 24h", kind: "text", placeholder: "step" },
  ],
  listAppFailures: [
    {
      field: "since",
      help: "only those at or after this time, in ISO 8601. Default: all that are kept",
      kind: "text",
      placeholder: "since",
    },
  ],
  createRoute: [
    {
      field: "host",
      help: "the app's own name, or one below it, such as api.shop.localhost. Default: its own",
      kind: "text",
      placeholder: "id",
    },
    {
      field: "path_prefix",
      help: "whole segments of the path, at most 4. The longest that fits counts",
      kind: "text",
      placeholder: "prefix",
    },
    {
      field: "group",
      help: "a group that has a service; until it has, the route leads nowhere",
      kind: "text",
      placeholder: "group",
    },
    {
      field: "port",
      help: "port of the group's instances. Default: that of its service, whose check counts for it too",
      kind: "number",
      placeholder: "port",
    },
    {
      field: "strip_prefix",
      help: "instances get the path without the prefix",
      kind: "boolean",
      placeholder: "prefix",
    },
    {
      field: "sticky",
      help: "requests of one client go to one instance while that serves, by the cookie skerry_instance",
      kind: "boolean",
      placeholder: "sticky",
    },
    {
      field: "rate_limit",
      help: "requests in a second of each client's address on one host; more are answered 429",
      kind: "number",
      placeholder: "limit",
    },
    {
      field: "concurrency",
      help: "requests that one instance works on at once; the others wait for ten seconds at most",
      kind: "number",
      placeholder: "concurrency",
    },
  ],
  setAppSecret: [
    {
      field: "value",
      help: "text of at most 64 KiB in UTF-8, without a NUL. No answer of the API has it",
      kind: "text",
      placeholder: "value",
    },
  ],
  createOneOff: [{ field: "size", help: "a name from GET /v1/sizes", kind: "text", placeholder: "size" }],
  tagTemplate: [
    {
      field: "template",
      help: "the version that the tag is to mean: its id, or NAME:TAG",
      kind: "text",
      placeholder: "template",
    },
  ],
  setRegistryCredential: [
    { field: "username", help: "", kind: "text", placeholder: "username" },
    {
      field: "password",
      help: "or a token that the registry takes as one. No answer of the API has it",
      kind: "text",
      placeholder: "password",
    },
  ],
  listBuilds: [
    {
      field: "status",
      help: "only builds with this status",
      kind: "text",
      placeholder: "status",
      words: ["queued", "building", "sealing", "freezing", "ready", "failed", "canceled"],
    },
    { field: "name", help: "only builds of this template", kind: "text", placeholder: "name" },
  ],
  setSecret: [
    {
      field: "value",
      help: "text of at most 64 KiB in UTF-8, without a NUL. No answer of the API has it",
      kind: "text",
      placeholder: "value",
    },
  ],
  rollBackSecret: [
    {
      field: "version",
      help: "its value becomes that of a new version",
      kind: "number",
      placeholder: "version",
    },
  ],
  createToken: [
    { field: "name", help: "", kind: "text", placeholder: "name" },
    { field: "expires_in", help: "lifetime. Default: until revoked", kind: "text", placeholder: "in" },
    {
      field: "scopes",
      help: "default: those of the token that asks, which are also the most that it can give",
      kind: "list",
      placeholder: "word",
      words: [
        "sandboxes:read",
        "sandboxes:write",
        "sandboxes:execute",
        "machines:read",
        "machines:write",
        "machines:execute",
        "apps:read",
        "apps:write",
        "templates:read",
        "templates:write",
        "secrets:read",
        "secrets:write",
        "tokens:read",
        "tokens:write",
        "org:read",
        "org:write",
        "audit:read",
        "hosts:read",
        "hosts:write",
        "metrics:read",
        "platform:write",
        "*",
      ],
    },
    {
      field: "user_id",
      help: "whose it will be: a member of the organization. Default: the caller",
      kind: "text",
      placeholder: "id",
    },
    {
      field: "bound",
      help: "whether it works in this organization only. Default: as the token that asks",
      kind: "boolean",
      placeholder: "bound",
    },
  ],
  createOrganization: [
    { field: "name", help: "for people; need not be unique", kind: "text", placeholder: "name" },
    {
      field: "egress_default",
      help: "the egress mode of sandboxes whose request names neither a mode nor allowed CIDRs",
      kind: "text",
      placeholder: "word",
      words: ["allow_all", "deny_all"],
    },
  ],
  updateOrganization: [
    { field: "name", help: "for people; need not be unique", kind: "text", placeholder: "name" },
    {
      field: "egress_default",
      help: "the egress mode of sandboxes whose request names neither a mode nor allowed CIDRs",
      kind: "text",
      placeholder: "word",
      words: ["allow_all", "deny_all"],
    },
    {
      field: "audit_details",
      help: "whether its audit log keeps commands and paths of files; off by default. A command may hold secrets, which those who may read the log then see. It counts within seconds",
      kind: "boolean",
      placeholder: "details",
    },
  ],
  addMember: [
    { field: "name", help: "of a new user. Either this or user_id", kind: "text", placeholder: "name" },
    {
      field: "email",
      help: "of a new user; for people, nothing is sent there",
      kind: "text",
      placeholder: "email",
    },
    {
      field: "user_id",
      help: "a user who exists already. Either this or name",
      kind: "text",
      placeholder: "id",
    },
    {
      field: "role",
      help: "the highest that you can give is your own",
      kind: "text",
      placeholder: "word",
      words: ["viewer", "member", "admin", "owner"],
    },
    {
      field: "expires_in",
      help: "when the first token ends where it is not used until then, at most 2160h. Its first use makes it a token like others, which lasts until it is revoked",
      kind: "text",
      placeholder: "in",
    },
  ],
  updateMember: [
    {
      field: "role",
      help: "the highest that you can give is your own",
      kind: "text",
      placeholder: "word",
      words: ["viewer", "member", "admin", "owner"],
    },
  ],
  setOrganizationLimits: [
    {
      field: "rate_read_per_minute",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "minute",
    },
    {
      field: "rate_read_burst",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "burst",
    },
    {
      field: "rate_write_per_minute",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "minute",
    },
    {
      field: "rate_write_burst",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "burst",
    },
    {
      field: "rate_expensive_per_minute",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "minute",
    },
    {
      field: "rate_expensive_burst",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "burst",
    },
    {
      field: "quota_sandboxes",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "sandboxes",
    },
    {
      field: "quota_machines",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "machines",
    },
    {
      field: "quota_vcpus",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "vcpus",
    },
    {
      field: "quota_memory_mib",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "mib",
    },
    {
      field: "quota_disk_gib",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "gib",
    },
    {
      field: "quota_persistent_disk_gib",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "gib",
    },
    {
      field: "quota_snapshots",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "snapshots",
    },
    {
      field: "quota_snapshot_gib",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "gib",
    },
    {
      field: "quota_builds",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "builds",
    },
    {
      field: "quota_template_gib",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "gib",
    },
    {
      field: "quota_tokens",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "tokens",
    },
    {
      field: "quota_apps",
      help: "null takes the installation's setting again",
      kind: "number",
      placeholder: "apps",
    },
  ],
  getUsage: [
    {
      field: "since",
      help: "a time in ISO 8601, such as 2026-11-20T16:00:00Z. Default: 24 hours before until",
      kind: "text",
      placeholder: "since",
    },
    {
      field: "until",
      help: "the same; steps that begin before it. Default: now",
      kind: "text",
      placeholder: "until",
    },
    {
      field: "step",
      help: "length of a step, whole minutes from 1m to 24h. There can be 10000 of them",
      kind: "text",
      placeholder: "step",
    },
  ],
  listAudit: [
    {
      field: "action",
      help: "only this action, such as sandbox.create. One that there is not is refused",
      kind: "text",
      placeholder: "action",
    },
    { field: "resource_id", help: "only what was done to this resource", kind: "text", placeholder: "id" },
    { field: "user_id", help: "only what this user did", kind: "text", placeholder: "id" },
    { field: "token_id", help: "only what was done with this token", kind: "text", placeholder: "id" },
    {
      field: "since",
      help: "only events at or after this time, in ISO 8601",
      kind: "text",
      placeholder: "since",
    },
    { field: "until", help: "only events before this time, in ISO 8601", kind: "text", placeholder: "until" },
  ],
  removeHost: [
    {
      field: "force",
      help: "also with sandboxes, machines and snapshots on it, and with templates that no other host has; they are lost",
      kind: "boolean",
      placeholder: "force",
    },
  ],
  rotateAuthority: [
    {
      field: "leave_offline",
      help: "do not wait for hosts that are offline. They have to join again, with what is on their disks",
      kind: "boolean",
      placeholder: "offline",
    },
  ],
  listMoves: [
    {
      field: "status",
      help: "only moves with this status",
      kind: "text",
      placeholder: "status",
      words: ["preparing", "sending", "resuming", "canceling", "done", "canceled", "failed"],
    },
    { field: "host", help: "only moves from this host, or to it, by id", kind: "text", placeholder: "id" },
    {
      field: "vm",
      help: "only those of this sandbox, machine or snapshot, by id",
      kind: "text",
      placeholder: "id",
    },
  ],
} as const satisfies Readonly<Record<string, readonly Flag[]>>;

export type OperationFlags = keyof typeof flags;
