// How much an organization may do: requests per token and in all, and resources at once. An operator sets both, for all and for one.
// No schema library in here, so that the command line starts fast.

/** What the virtual machines of an organization hold at once, and what counts: vCPUs and memory of what runs, disk of what exists. */
export const vmQuotaNames = [
  "sandboxes",
  "machines",
  "vcpus",
  "memory_mib",
  "disk_gib",
  // What persistent sandboxes take of a disk while they are paused: of each its disk, and a file as large as its memory. It counts from the
  // creation on, so that no pause is refused for want of it.
  "persistent_disk_gib",
] as const;
export type VmQuotaName = (typeof vmQuotaNames)[number];

/** What an organization holds at once. Of its tokens those count that are neither revoked nor expired. */
export const quotaNames = [
  ...vmQuotaNames,
  "snapshots",
  "snapshot_gib",
  "builds",
  "template_gib",
  "tokens",
  "apps",
] as const;
export type QuotaName = (typeof quotaNames)[number];

/**
 * Every limit with its default. A rate refills evenly, so many tickets a minute; `burst` is
 * how many can lie ready. That it is half a minute's worth, where the interface does not say, is our choice.
 */
export const limitDefaults = {
  rate_read_per_minute: 3_000,
  rate_read_burst: 1_500,
  // A command or a file of a sandbox is one: thirty in a second are a few agents, or the tests of a client.
  rate_write_per_minute: 1_800,
  rate_write_burst: 900,
  rate_expensive_per_minute: 300,
  rate_expensive_burst: 150,
  quota_sandboxes: 100,
  quota_machines: 100,
  quota_vcpus: 400,
  quota_memory_mib: 204_800,
  quota_disk_gib: 2_000,
  quota_persistent_disk_gib: 1_000,
  quota_snapshots: 100,
  quota_snapshot_gib: 500,
  // A build takes CPUs, disks and the network of a host for minutes; a pipeline of a few templates runs at once all the same.
  quota_builds: 8,
  quota_template_gib: 100,
  // More than a busy CI has at once with a token for each job; each valid token costs memory in every replica that sees it.
  quota_tokens: 1_000,
  quota_apps: 100,
} as const;
export type LimitName = keyof typeof limitDefaults;
export type OrganizationLimits = Readonly<Record<LimitName, number>>;

export const limitNames = Object.keys(limitDefaults) as readonly LimitName[];

/** All tokens of an organization together may make this many times the requests that one token may, however many there are. */
export const ORGANIZATION_RATE_FACTOR = 2;

/** What PostgreSQL keeps it in. */
export const LIMIT_MAX = 2_147_483_647;

export function isLimitName(name: string): name is LimitName {
  return Object.hasOwn(limitDefaults, name);
}
