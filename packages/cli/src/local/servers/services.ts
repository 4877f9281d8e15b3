// The two servers as the supervisor starts them: program, flags and settings.

import { join } from "node:path";
import { limitNames } from "@skerry/contract/limits/quotas";
import { environment } from "../../config.ts";
import { databaseUrl, type Layout } from "../system/layout.ts";
import type { ServiceName } from "./supervisor-state.ts";
import type { SystemUser } from "../system/system-user.ts";

/** Buffers that have passed through are freed when V8's nursery is swept. The first bounds the nursery in MiB, the second has it swept for every
 *  4 MiB of buffers, before they are a reason to go through the whole heap: docs/decisions/5. */
const SMALL_NURSERY = ["--max-semi-space-size=2", "--scavenger-max-new-space-capacity-mb=1"] as const;
/** The host waits for QEMU and the kernel most of its time, so it takes less memory rather than faster code. */
const FLAGS: { readonly [Name in ServiceName]: readonly string[] } = {
  control: SMALL_NURSERY,
  host: [...SMALL_NURSERY, "--optimize-for-size"],
};

export interface Service {
  readonly name: ServiceName;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Which of them run on this machine. */
export function serviceNames({ joined }: Layout): readonly ServiceName[] {
  return joined === undefined ? ["control", "host"] : ["host"];
}

export function serviceOf(name: ServiceName, layout: Layout, user: SystemUser | undefined): Service {
  const common = {
    PATH: environment()["PATH"],
    NODE_ENV: "production",
    SKERRY_LOG_LEVEL: environment()["SKERRY_LOG_LEVEL"],
  };
  const settings = name === "host" ? hostEnvironment(layout, user) : controlEnvironment(layout, user);
  const defined = Object.entries({ ...common, ...settings }).filter(([, value]) => value !== undefined);
  return {
    name,
    args: [...FLAGS[name], join(layout.dist, `${name}.js`), "serve"],
    env: Object.fromEntries(defined),
  };
}

export function controlEnvironment(layout: Layout, user: SystemUser | undefined): NodeJS.ProcessEnv {
  if (user === undefined) throw new Error("control does not run as root");
  return {
    ...passed(
      "SKERRY_REAPER_INTERVAL_MS",
      "SKERRY_VM_CLEANUP_INTERVAL_MS",
      "SKERRY_HEARTBEAT_INTERVAL_MS",
      "SKERRY_CERTIFICATES_INTERVAL_MS",
      "SKERRY_HEALTH_MONITOR_INTERVAL_MS",
    ),
    ...passed(
      "SKERRY_TLS_CERT",
      "SKERRY_TLS_KEY",
      "SKERRY_TLS_LISTEN",
      "SKERRY_CORS_ORIGINS",
      "SKERRY_DASHBOARD",
      "SKERRY_E2B",
      "SKERRY_BUILD_DOMAINS",
    ),
    ...passed("SKERRY_SANDBOX_DOMAIN", "SKERRY_SANDBOX_TLS_CERT", "SKERRY_SANDBOX_TLS_KEY"),
    ...passed("SKERRY_REGISTRY_MIRRORS", "SKERRY_REGISTRY_CA"),
    ...passed(
      "SKERRY_OBJECT_STORE_URL",
      "SKERRY_OBJECT_STORE_REGION",
      "SKERRY_OBJECT_STORE_CREDENTIALS",
      "SKERRY_LAYER_STORER_INTERVAL_MS",
    ),
    ...passed("SKERRY_METRICS_LISTEN", "SKERRY_AUDIT_RETENTION_DAYS", "SKERRY_IDEMPOTENCY_WAIT_MS"),
    ...passed("SKERRY_VCPUS_PER_CPU", "SKERRY_TRUSTED_PROXIES", "SKERRY_METRICS_ORGANIZATIONS"),
    ...passed(
      "SKERRY_RATE_AUTH_FAILURES_PER_MINUTE",
      "SKERRY_RATE_DOWNLOADS_PER_MINUTE",
      "SKERRY_RATE_VISITORS_PER_MINUTE",
      "SKERRY_CONNECTIONS_PER_ADDRESS",
    ),
    ...passed(...limitNames.map((name) => `SKERRY_${name.toUpperCase()}`)),
    SKERRY_DATABASE_URL: databaseUrl(layout),
    SKERRY_CLIENTS: join(layout.dist, "clients"),
    SKERRY_DASHBOARD_FILES: join(layout.dist, "dashboard"),
    SKERRY_ROOT_KEY_FILE: layout.rootKeyFile,
    SKERRY_LISTEN: layout.listen,
    SKERRY_HOST_SOCKET: layout.hostSocket,
    SKERRY_RUN_AS_UID: String(user.uid),
    SKERRY_RUN_AS_GID: String(user.gid),
  };
}

/** `user`: whose control uses the host's socket; undefined where that is only root's. */
export function hostEnvironment(layout: Layout, user: SystemUser | undefined): NodeJS.ProcessEnv {
  return {
    ...passed("SKERRY_HOST_ASSETS", "SKERRY_VM_MEMORY_MIB", "SKERRY_DEBIAN_MIRROR", "SKERRY_EXTRA_CA"),
    ...passed(
      "SKERRY_VM_CIDR",
      "SKERRY_DNS_SERVERS",
      "SKERRY_DNS_PORT",
      "SKERRY_NAME_PROXY_PORT",
      "SKERRY_READY_SLOTS",
    ),
    ...passed(
      "SKERRY_NEVER_CIDRS",
      "SKERRY_VM_CGROUP",
      "SKERRY_GUEST_KERNEL",
      "SKERRY_GUEST_DEADLINE_FACTOR",
    ),
    ...passed("SKERRY_HOST_NAME", "SKERRY_HOST_LISTEN", "SKERRY_HOST_ADDRESS"),
    ...joinedEnvironment(layout),
    ...passed("SKERRY_WARM_MIN", "SKERRY_WARM_MAX", "SKERRY_WARM_MEMORY_MIB"),
    SKERRY_HOST_STATE: layout.hostState,
    SKERRY_HOST_SOCKET: layout.hostSocket,
    ...(user === undefined ? {} : { SKERRY_HOST_SOCKET_GID: String(user.gid) }),
    SKERRY_NATIVE: join(layout.dist, "native"),
    SKERRY_TEMPLATES: layout.templates,
  };
}

function joinedEnvironment({ joined }: Layout): NodeJS.ProcessEnv {
  if (joined === undefined) return {};
  return {
    SKERRY_HOST_NAME: joined.name,
    SKERRY_HOST_LISTEN: joined.listen,
    SKERRY_HOST_ADDRESS: joined.address,
  };
}

function passed(...names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(
    names.map((name) => [name, environment()[name]]).filter(([, value]) => value !== undefined),
  );
}
