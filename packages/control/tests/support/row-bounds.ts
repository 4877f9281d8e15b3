// Every table that calls of an organization make grow, with what bounds its rows. Where the rows that are over are kept by a rule (`kept`), the service
// `sweeper` removes the others every ten minutes, so what the rates let in meanwhile (`CHANGES`, `CREATIONS`) comes on top.

import { limitDefaults, ORGANIZATION_RATE_FACTOR } from "@skerry/contract/limits/quotas";
import { TAGS_MAX } from "@skerry/contract/templates/template-name";
import {
  SECRET_VALUE_MAX_BYTES,
  SECRET_VERSIONS_MAX,
  SECRETS_MAX,
} from "@skerry/contract/secrets/secret-bounds";
import { REGISTRY_CREDENTIALS_MAX } from "@skerry/contract/registries/registry-credential";
import { ORGANIZATION_TCP_PORTS_MAX, GROUPS_MAX, ROUTES_MAX } from "@skerry/contract/apps/app-bounds";
import { DEPLOYS_MAX, RELEASES_MAX } from "../../src/apps/app-store.ts";
import { goneApps } from "../../src/apps/gone-apps.ts";
import { ENDED_MAX } from "../../src/apps/instances/instance-store.ts";
import { RELEASE_MAX_BYTES } from "../../src/apps/deploys/deploys.ts";
import { OLD_EVENTS_MAX } from "../../src/audit/audit-store.ts";
import { EVENTS_PER_DAY } from "../../src/audit/audit-trail.ts";
import { LOG_MAX_BYTES, LOGS_MAX_BYTES } from "../../src/builds/build-log-store.ts";
import { endedBuilds } from "../../src/builds/build-store.ts";
import { ENTRIES_MAX } from "../../src/builds/cache-store.ts";
import { TEMPLATES_MAX } from "../../src/capacity/build-quota.ts";
import type { Kept } from "../../src/db/keep-newest.ts";
import { keptAskedBuilds } from "../../src/e2b/sweep-asked-builds.ts";
import { OPEN_MAX } from "../../src/e2b/template-store.ts";
import { keptAnswers } from "../../src/idempotency/kept-answers.ts";
import { endedMachines } from "../../src/machines/ended-machines.ts";
import { endedTokens } from "../../src/organizations/ended-tokens.ts";
import { MEMBERS_MAX } from "../../src/organizations/members.ts";
import { endedSandboxes, FAILED_MAX } from "../../src/sandboxes/ended-sandboxes.ts";
import { endedSnapshots } from "../../src/snapshots/ended-snapshots.ts";
import { endedExecutions } from "../../src/vms/executions/kept-execution-store.ts";
import { deletedTemplates } from "../../src/templates/deleted-templates.ts";

const MIB = 1024 * 1024;
/** Of an environment as it is stored. */
const STAGED_MAX_BYTES = 56 * 1024;
const limits = limitDefaults;

/** What all tokens of an organization may do in ten minutes. */
const CHANGES = 10 * limits.rate_write_per_minute * ORGANIZATION_RATE_FACTOR;
const CREATIONS = 10 * limits.rate_expensive_per_minute * ORGANIZATION_RATE_FACTOR;

export interface RowBound {
  /** Of one organization, by the limits that hold where an operator changes none. */
  readonly rows: number;
  /** What a row takes at most on average, without what `moreBytes` counts. Indexes take as much again, or twice that. */
  readonly rowBytes: number;
  /** What callers fill columns with, for all rows together. */
  readonly moreBytes?: number;
  readonly kept?: Kept;
  readonly because: string;
  /** Why it may be larger than `TABLE_MAX_BYTES`. */
  readonly isLarge?: string;
}

/** Of one table and one organization. */
export const TABLE_MAX_BYTES = 256 * MIB;

const keptBy = (rule: Kept, meanwhile: number, live: number) => ({
  kept: rule,
  rows: live + rule.rowsMax + meanwhile,
  moreBytes: rule.bytesMax,
});

export const rowBounds: { readonly [table: string]: RowBound | undefined } = {
  sandboxes: {
    ...keptBy(endedSandboxes, CREATIONS, limits.quota_sandboxes + FAILED_MAX),
    rowBytes: 1_500,
    because: "Live ones have a quota, and of those that failed and ended the newest are kept.",
  },
  machines: {
    ...keptBy(endedMachines, CREATIONS, limits.quota_machines),
    rowBytes: 1_500,
    because: "Live ones have a quota, and of those that ended the newest are kept.",
  },
  kept_executions: {
    ...keptBy(endedExecutions, 0, limits.quota_sandboxes + FAILED_MAX),
    rowBytes: 4_000,
    because: "A sandbox has one that runs, and each that ends removes what is too much of the others.",
  },
  vm_events: {
    // 500 of each live one, 30 of each that has ended, and go with its row.
    rows:
      500 * (limits.quota_sandboxes + FAILED_MAX + limits.quota_machines) +
      30 * (endedSandboxes.rowsMax + endedMachines.rowsMax) +
      CHANGES,
    rowBytes: 300,
    because: "The newest of each VM are kept (0051-bounded-rows.ts), for as long as its row is there.",
  },
  apps: {
    rows: limits.quota_apps,
    rowBytes: 1_000,
    moreBytes: limits.quota_apps * STAGED_MAX_BYTES,
    because: "They have a quota, and a bound each of variables that wait for a deploy.",
  },
  app_changes: {
    ...keptBy(goneApps, 2 * CREATIONS, limits.quota_apps),
    rowBytes: 200,
    because: "One for each app, and of those that are gone the newest are kept.",
  },
  releases: {
    // Those that run are kept beside the newest.
    rows: limits.quota_apps * (RELEASES_MAX + 10),
    rowBytes: RELEASE_MAX_BYTES + 300,
    because: "The newest of each app are kept, and have a bound each.",
  },
  deploys: {
    rows: limits.quota_apps * (DEPLOYS_MAX + 1),
    rowBytes: 1_500,
    // The one that is under way, and one that is watched.
    moreBytes: 2 * limits.quota_apps * STAGED_MAX_BYTES,
    because: "The newest of each app are kept.",
  },
  app_instances: {
    rows: limits.quota_machines + CREATIONS,
    rowBytes: 300,
    because: "One for each machine of an app.",
  },
  tcp_ports: {
    rows: ORGANIZATION_TCP_PORTS_MAX,
    rowBytes: 200,
    because: "An organization has a bound of them.",
  },
  route_traffic: {
    rows: limits.quota_apps * (ROUTES_MAX + 1) * 24 * 6,
    rowBytes: 300,
    because: "A row for each ten minutes of a day in which a route of an app had answers.",
  },
  routes: { rows: limits.quota_apps * ROUTES_MAX, rowBytes: 1_200, because: "An app has a bound of them." },
  app_traffic: {
    rows: limits.quota_apps * 24 * 12 * GROUPS_MAX,
    rowBytes: 200,
    because:
      "A row for each five minutes of a day in which a group of an app had requests, of one release but while that changes.",
  },
  log_forwards: { rows: limits.quota_apps, rowBytes: 1_200, because: "One for each app." },
  log_cursors: {
    // For the receiver of the app, and for that of all apps.
    rows: 2 * (limits.quota_machines + CREATIONS + limits.quota_apps * (ENDED_MAX + 1)),
    rowBytes: 250,
    because: "One for each instance whose log is kept, and receiver; the others are forgotten each turn.",
  },
  ended_instances: {
    rows: limits.quota_apps * (ENDED_MAX + 1),
    rowBytes: 3_000,
    because: "The newest of each app are kept, with the names of their secrets.",
  },
  injected_counts: {
    rows: limits.quota_sandboxes + FAILED_MAX + limits.quota_machines,
    rowBytes: 20_000,
    because: "One for each VM with rules, of the hosts that its rules name.",
  },
  machine_ends: {
    rows: 100 * (limits.quota_machines + endedMachines.rowsMax),
    rowBytes: 300,
    because: "The newest 100 of each machine are kept, for as long as its row is there.",
  },
  restarts: { rows: limits.quota_machines, rowBytes: 100, because: "One for each machine." },
  snapshots: {
    ...keptBy(endedSnapshots, 6 * CREATIONS, limits.quota_snapshots),
    rowBytes: 1_000,
    because: "Those that are there have a quota, and of the others the newest are kept.",
  },
  templates: {
    ...keptBy(deletedTemplates, CREATIONS, TEMPLATES_MAX + limits.quota_builds),
    rowBytes: 4_000,
    because: "Versions have a bound, and of those that were deleted the newest are kept.",
  },
  template_tags: { rows: TEMPLATES_MAX * TAGS_MAX, rowBytes: 300, because: "A version has so many tags." },
  template_hosts: { rows: TEMPLATES_MAX * 100, rowBytes: 200, because: "One for a version and a host." },
  template_frozen: { rows: TEMPLATES_MAX * 20, rowBytes: 100, because: "One for a version and a size." },
  builds: {
    ...keptBy(endedBuilds, 0, limits.quota_builds),
    rowBytes: 4_000,
    because:
      "Those under way have a quota, and each that comes removes what is too much of those that ended.",
  },
  build_steps: {
    rows: 100 * (limits.quota_builds + endedBuilds.rowsMax),
    rowBytes: 500,
    // Their names, and the paths that they read, are in the request.
    moreBytes: endedBuilds.bytesMax,
    because: "A build has up to 100, and they go with it.",
  },
  build_log: {
    rows: 1,
    rowBytes: 1,
    moreBytes: LOGS_MAX_BYTES + limits.quota_builds * LOG_MAX_BYTES,
    because: "The log of a build has a bound, and the logs of all together.",
    isLarge: "It is what builds have printed: 256 MiB of those that ended.",
  },
  build_cache: {
    rows: ENTRIES_MAX.org_id + CREATIONS,
    rowBytes: 15_000,
    because: "The newest are kept, by their number and the bytes of their layers.",
  },
  e2b_builds: {
    ...keptBy(keptAskedBuilds, 0, OPEN_MAX + TEMPLATES_MAX),
    moreBytes: keptAskedBuilds.bytesMax + TEMPLATES_MAX * 128 * 1024,
    rowBytes: 1_000,
    because: "So many may wait for their steps, and each that comes removes what is too much of the others.",
  },
  e2b_archives: { rows: 10_000, rowBytes: 300, because: "Each has a chunk." },
  e2b_archive_chunks: {
    rows: 10_000,
    rowBytes: 200,
    moreBytes: 512 * MIB,
    because: "Chunks and their bytes are counted before one is added.",
    isLarge: "They are the files of builds, and each stays for an hour.",
  },
  e2b_accesses: {
    rows: (limits.quota_sandboxes + FAILED_MAX) * (limits.quota_tokens + endedTokens.rowsMax),
    rowBytes: 250,
    because: "One for a sandbox and a token that was used for it, for as long as both live.",
  },
  users: {
    rows: MEMBERS_MAX + endedTokens.rowsMax + CHANGES,
    rowBytes: 300,
    because: "Members have a bound, and those who were removed are forgotten with their tokens.",
  },
  memberships: { rows: MEMBERS_MAX, rowBytes: 150, because: "Members have a bound." },
  api_tokens: {
    // Each valid token may have ten sessions.
    ...keptBy(endedTokens, CHANGES, 11 * limits.quota_tokens),
    rowBytes: 600,
    because: "Valid ones have a quota, and of the others the newest are kept.",
  },
  login_codes: { rows: CHANGES, rowBytes: 200, because: "Each is good for a minute." },
  idempotency_keys: {
    ...keptBy(keptAnswers, CHANGES, 0),
    rowBytes: 400,
    because: "The newest are kept, by their number and the bytes of their answers.",
  },
  secret_versions: {
    rows: SECRETS_MAX * SECRET_VERSIONS_MAX,
    rowBytes: SECRET_VALUE_MAX_BYTES + 1_000,
    because: "They have a bound.",
  },
  registry_credentials: { rows: REGISTRY_CREDENTIALS_MAX, rowBytes: 1_000, because: "They have a bound." },
  data_keys: { rows: 1, rowBytes: 300, because: "One for each organization." },
  root_keys: {
    rows: 1,
    rowBytes: 200,
    because: "One for the installation, made when it first seals something.",
  },
  signing_keys: {
    rows: 1,
    rowBytes: 200,
    because: "One for the installation, made when it first signs something.",
  },
  rate_buckets: {
    rows: 4 * (1 + limits.quota_tokens + CHANGES),
    rowBytes: 100,
    because: "One for each class and token; those of tokens that have ended go.",
  },
  capacity_entries: { rows: 1_000, rowBytes: 100, because: "They are folded where they are more than 64." },
  usage_samples: { rows: 2_880 + 30 * 144, rowBytes: 150, because: "One for a minute, and later for ten." },
  audit_events: {
    // Of each day; calls of one kind beyond them are folded by the minute.
    rows: OLD_EVENTS_MAX + 30 * (EVENTS_PER_DAY + 61 * 1_440),
    rowBytes: 400,
    because:
      "Refusals and what is beyond a day's number are folded; of what is older than 30 days the newest are kept.",
    isLarge:
      "It must not forget what happened in the last 30 days: a caller that could fill it could hide in it.",
  },
};

/** Tables that no organization's calls make grow: what the operator has, and what the platform knows of itself. */
export const tablesOfTheOperator = [
  ...[
    "authority",
    "clock_eras",
    "control_plane",
    "hosts",
    "join_tokens",
    "leases",
    "moves",
    "organization_limits",
    "organizations",
  ],
  ...["schema_migrations", "stored_layers", "template_copies"],
  // The version before signs with what is in it.
  "url_signing_keys",
];
