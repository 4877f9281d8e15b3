// Every setting of the service, and the programs that get it. The only list of them: what `skerry up` passes on, what `skerry install` writes
// down, and what `skerry restore` takes from a backup follow from it.

import { limitNames } from "@skerry/contract/limits/quotas";

/** Which program has it in its environment; `command`: the local commands, which tell the programs in other words. */
export type SettingReader = "control" | "host" | "command";

interface KnownSetting {
  /** Whether a restore takes it from a backup, which may have been written to do harm. */
  readonly fromBackup: boolean;
}

/** Amounts, addresses to listen on, names, networks: none of them runs anything, and none is a secret. */
const PLAIN: Readonly<Record<SettingReader, readonly string[]>> = {
  command: ["SKERRY_LISTEN", "SKERRY_LOG_LEVEL"],
  control: [
    "SKERRY_TLS_LISTEN",
    "SKERRY_CORS_ORIGINS",
    "SKERRY_DASHBOARD",
    "SKERRY_E2B",
    "SKERRY_APPS_DOMAIN",
    "SKERRY_APPS_TCP_PORTS",
    "SKERRY_BUILD_DOMAINS",
    "SKERRY_SANDBOX_DOMAIN",
    "SKERRY_METRICS_LISTEN",
    "SKERRY_METRICS_ORGANIZATIONS",
    "SKERRY_TRUSTED_PROXIES",
    "SKERRY_VCPUS_PER_CPU",
    "SKERRY_AUDIT_RETENTION_DAYS",
    "SKERRY_PAUSED_RETENTION_DAYS",
    "SKERRY_IDEMPOTENCY_WAIT_MS",
    "SKERRY_BUILD_CACHE_GIB",
    "SKERRY_BUILD_CACHE_HOST_GIB",
    "SKERRY_BUILD_CACHE_STEP_MS",
    "SKERRY_RATE_AUTH_FAILURES_PER_MINUTE",
    "SKERRY_RATE_DOWNLOADS_PER_MINUTE",
    "SKERRY_RATE_VISITORS_PER_MINUTE",
    "SKERRY_CONNECTIONS_PER_ADDRESS",
    ...limitNames.map((name) => `SKERRY_${name.toUpperCase()}`),
    // How often background services run: for tests.
    ...[
      "APP_DEPLOYER",
      "BUILDER",
      "CACHE_CLEANUP",
      "CERTIFICATES",
      "DRAIN",
      "HEALTH_MONITOR",
      "HEARTBEAT",
      "IDLE_PAUSER",
      "RUN_ENDER",
      "LAYER_STORER",
      "LOG_FORWARDER",
      "MOVER",
      "PROXY_CHECK",
      "REAPER",
      "SWEEPER",
      "TEMPLATE_SPREADER",
      "USAGE_SAMPLER",
      "VM_CLEANUP",
    ].map((service) => `SKERRY_${service}_INTERVAL_MS`),
  ],
  host: [
    "SKERRY_VM_MEMORY_MIB",
    "SKERRY_VM_CIDR",
    "SKERRY_NEVER_CIDRS",
    "SKERRY_DNS_SERVERS",
    "SKERRY_DNS_PORT",
    "SKERRY_NAME_PROXY_PORT",
    "SKERRY_EDGE_HTTP",
    "SKERRY_EDGE_INNER",
    "SKERRY_READY_SLOTS",
    "SKERRY_GUEST_DEADLINE_FACTOR",
    "SKERRY_HOST_NAME",
    "SKERRY_HOST_LISTEN",
    "SKERRY_HOST_ADDRESS",
    "SKERRY_WARM_MIN",
    "SKERRY_WARM_MAX",
    "SKERRY_WARM_MEMORY_MIB",
  ],
};

/** They name files and folders of this machine, or say where code, images and the database come from. The operator sets them again. */
const OF_THIS_MACHINE: Readonly<Record<SettingReader, readonly string[]>> = {
  command: ["SKERRY_STATE", "SKERRY_TEMPLATES", "SKERRY_ROOT_KEY_FILE", "SKERRY_DATABASE_URL"],
  control: [
    "SKERRY_TLS_CERT",
    "SKERRY_TLS_KEY",
    "SKERRY_SANDBOX_TLS_CERT",
    "SKERRY_SANDBOX_TLS_KEY",
    "SKERRY_REGISTRY_MIRRORS",
    "SKERRY_REGISTRY_CA",
    "SKERRY_LOGS_FORWARD",
    "SKERRY_LOGS_CA",
    "SKERRY_LOGS_PRIVATE_CIDRS",
    "SKERRY_OBJECT_STORE_URL",
    "SKERRY_OBJECT_STORE_REGION",
    "SKERRY_OBJECT_STORE_CREDENTIALS",
  ],
  host: [
    "SKERRY_HOST_ASSETS",
    "SKERRY_IMAGE_CACHE",
    "SKERRY_DEBIAN_MIRROR",
    "SKERRY_EXTRA_CA",
    "SKERRY_GUEST_KERNEL",
  ],
};

export const knownSettings: ReadonlyMap<string, KnownSetting> = new Map(
  (["command", "control", "host"] as const).flatMap((reader) =>
    settingsOf(reader).map((name) => [name, { fromBackup: PLAIN[reader].includes(name) }] as const),
  ),
);

export function settingsOf(reader: SettingReader): readonly string[] {
  return [...PLAIN[reader], ...OF_THIS_MACHINE[reader]];
}
