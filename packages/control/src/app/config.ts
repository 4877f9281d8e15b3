// The environment of this process, read once. Every fault is named, not only the first.

import { EDGE_PORT, TCP_PORTS_MAX } from "@skerry/contract/apps/app-bounds";
import { AUDIT_KEPT_MIN_DAYS } from "@skerry/contract/bounds";
import { limitDefaults, limitNames, type OrganizationLimits } from "@skerry/contract/limits/quotas";
import { SILENT_PER_ADDRESS } from "@skerry/contract/connections/file-limit";
import type {
  AppAddresses,
  InstallationLimits,
  LogSettings,
  RegistrySettings,
  ServiceName,
} from "../context.ts";
import type { ServiceSettings } from "../background/background-service.ts";
import type { BucketSettings } from "../object-store/bucket.ts";
import { declaredServices } from "./rooms.ts";
import { Reader, type Address, type Environment } from "./settings-reader.ts";

/** Periods of background services that the operator has set, in ms. */
export type Periods = Readonly<Partial<Record<ServiceName, number>>>;

export interface Config extends ServiceSettings {
  readonly databaseUrl: string;
  readonly listen: Address;
  /** Where metrics are served without a token; undefined: nowhere. */
  readonly metricsListen: Address | undefined;
  /** Origins whose pages may call the API from a browser. */
  readonly corsOrigins: readonly string[];
  /** Whether the dashboard is served. */
  readonly dashboard: boolean;
  /** Whether clients of E2B are served. */
  readonly e2b: boolean;
  /** Undefined: no HTTPS. */
  readonly tls: TlsConfig | undefined;
  /** Undefined: ports are reached below `/v1` alone. */
  readonly sandboxDomain: SandboxDomainConfig | undefined;
  readonly apps: AppAddresses;
  /** What builds reach that say nothing of it. */
  readonly buildDomains: readonly string[];
  /** Of the keys above all that is sealed; undefined: nothing can be. */
  readonly rootKeyFile: string | undefined;
  /** Undefined: layers of templates are on hosts alone. */
  readonly objectStore: BucketSettings | undefined;
  readonly registries: RegistrySettings;
  readonly logs: LogSettings;
  readonly logLevel: LogLevel;
  readonly periods: Periods;
  readonly limits: InstallationLimits;
  /** Without an authenticated request, from one address. */
  readonly connectionsPerAddress: number;
  /** Proxies whose `X-Forwarded-For` is believed: addresses and networks. */
  readonly trustedProxies: readonly string[];
}

/** A certificate chain and its private key, as PEM. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** HTTPS, beside plain HTTP on the other address. */
export interface TlsConfig extends CertificateFiles {
  readonly listen: Address;
}

/** Below it each port has a name. */
export interface SandboxDomainConfig {
  readonly domain: string;
  /** Undefined: that of the API is for these names, too, or a proxy has it. */
  readonly certificate: CertificateFiles | undefined;
}

/** What the process should become before it does anything else; undefined: what it is. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Each is a series of five metrics. */
const METRICS_ORGANIZATIONS_MAX = 1_000;

export function readConfig(environment: Environment = process.env): Config {
  const read = new Reader(environment);
  const config: Config = {
    databaseUrl: read.databaseUrl("SKERRY_DATABASE_URL"),
    listen: read.address("SKERRY_LISTEN", "127.0.0.1:7070"),
    metricsListen: read.optionalAddress("SKERRY_METRICS_LISTEN"),
    corsOrigins: read.origins("SKERRY_CORS_ORIGINS"),
    dashboard: read.oneOf("SKERRY_DASHBOARD", ["on", "off"], "on") === "on",
    e2b: read.oneOf("SKERRY_E2B", ["on", "off"], "on") === "on",
    tls: readTls(read, environment),
    sandboxDomain: readSandboxDomain(read, environment),
    apps: {
      domain:
        (environment["SKERRY_APPS_DOMAIN"] ?? "") === "" ? "localhost" : read.domain("SKERRY_APPS_DOMAIN"),
      port: read.address("SKERRY_EDGE_HTTP", `127.0.0.1:${EDGE_PORT}`).port,
      tcpPorts: read.optionalPorts("SKERRY_APPS_TCP_PORTS", TCP_PORTS_MAX),
    },
    buildDomains: read.domains("SKERRY_BUILD_DOMAINS"),
    rootKeyFile: read.optionalPath("SKERRY_ROOT_KEY_FILE"),
    objectStore: readObjectStore(read, environment),
    registries: {
      mirrors: read.mirrors("SKERRY_REGISTRY_MIRRORS"),
      caFile: read.optionalPath("SKERRY_REGISTRY_CA"),
    },
    logs: {
      forward: read.logReceiver("SKERRY_LOGS_FORWARD"),
      caFile: read.optionalPath("SKERRY_LOGS_CA"),
      privateCidrs: read.networks("SKERRY_LOGS_PRIVATE_CIDRS"),
    },
    hostSocket: read.path("SKERRY_HOST_SOCKET", "/run/skerry/host.sock"),
    logLevel: read.oneOf("SKERRY_LOG_LEVEL", logLevels, "info"),
    auditKeptDays: read.atLeast("SKERRY_AUDIT_RETENTION_DAYS", 365, AUDIT_KEPT_MIN_DAYS),
    pausedKeptDays: read.positive("SKERRY_PAUSED_RETENTION_DAYS", 30),
    periods: periodsFrom(read),
    limits: {
      organization: limitsFrom(read),
      authFailuresPerMinute: read.positive("SKERRY_RATE_AUTH_FAILURES_PER_MINUTE", 60),
      downloadsPerMinute: read.positive("SKERRY_RATE_DOWNLOADS_PER_MINUTE", 120),
      visitorsPerMinute: read.positive("SKERRY_RATE_VISITORS_PER_MINUTE", 3_000),
      vcpusPerCpu: read.positive("SKERRY_VCPUS_PER_CPU", 16),
      // Longer than it takes to find out that the first request's process has died (15 s), so that the usual retry after a crash ends with
      // an answer and not with one more error.
      idempotencyWaitMs: read.positive("SKERRY_IDEMPOTENCY_WAIT_MS", 25_000),
      buildCacheGib: read.limit("SKERRY_BUILD_CACHE_GIB", 20),
      buildCacheHostGib: read.limit("SKERRY_BUILD_CACHE_HOST_GIB", 100),
      buildCacheStepMs: read.limit("SKERRY_BUILD_CACHE_STEP_MS", 1_000),
      metricsOrganizations: read.upTo("SKERRY_METRICS_ORGANIZATIONS", 0, METRICS_ORGANIZATIONS_MAX),
    },
    connectionsPerAddress: read.positive("SKERRY_CONNECTIONS_PER_ADDRESS", SILENT_PER_ADDRESS),
    trustedProxies: read.networks("SKERRY_TRUSTED_PROXIES"),
  };
  read.finish();
  return config;
}

/** A certificate or a key makes HTTPS; then both must be there. */
function readTls(read: Reader, environment: Environment): TlsConfig | undefined {
  const { SKERRY_TLS_CERT: cert, SKERRY_TLS_KEY: key } = environment;
  if (cert === undefined && key === undefined) return undefined;
  return {
    listen: read.address("SKERRY_TLS_LISTEN", "0.0.0.0:7443"),
    certFile: read.path("SKERRY_TLS_CERT", ""),
    keyFile: read.path("SKERRY_TLS_KEY", ""),
  };
}

function readSandboxDomain(read: Reader, environment: Environment): SandboxDomainConfig | undefined {
  const { SKERRY_SANDBOX_DOMAIN: domain = "", SKERRY_SANDBOX_TLS_CERT: cert } = environment;
  const { SKERRY_SANDBOX_TLS_KEY: key, SKERRY_TLS_CERT: ofApi } = environment;
  const isNamed = cert !== undefined || key !== undefined;
  if (isNamed && domain === "") read.fault("SKERRY_SANDBOX_TLS_CERT", "needs SKERRY_SANDBOX_DOMAIN");
  if (isNamed && ofApi === undefined) read.fault("SKERRY_SANDBOX_TLS_CERT", "needs SKERRY_TLS_CERT, too");
  if (domain === "") return undefined;
  const certificate = {
    certFile: isNamed ? read.path("SKERRY_SANDBOX_TLS_CERT", "") : "",
    keyFile: isNamed ? read.path("SKERRY_SANDBOX_TLS_KEY", "") : "",
  };
  return { domain: read.domain("SKERRY_SANDBOX_DOMAIN"), certificate: isNamed ? certificate : undefined };
}

/** What is stored is sealed, so a store needs a root key. */
function readObjectStore(read: Reader, environment: Environment): BucketSettings | undefined {
  if ((environment["SKERRY_OBJECT_STORE_URL"] ?? "") === "") return undefined;
  if ((environment["SKERRY_ROOT_KEY_FILE"] ?? "") === "")
    read.fault("SKERRY_OBJECT_STORE_URL", "needs SKERRY_ROOT_KEY_FILE, too");
  return {
    url: read.httpUrl("SKERRY_OBJECT_STORE_URL"),
    region: environment["SKERRY_OBJECT_STORE_REGION"] ?? "us-east-1",
    credentialsFile: read.path("SKERRY_OBJECT_STORE_CREDENTIALS", ""),
  };
}

/** Services that share a setting have one period. */
function periodsFrom(read: Reader): Periods {
  const entries = declaredServices.flatMap(({ name, setting, everyMs }) =>
    setting === undefined ? [] : [[name, read.positive(setting, everyMs)]],
  );
  return Object.fromEntries(entries) as Periods;
}

/** `SKERRY_RATE_READ_PER_MINUTE`, `SKERRY_QUOTA_SANDBOXES`, and so on for every name in the contract's list. */
function limitsFrom(read: Reader): OrganizationLimits {
  const entries = limitNames.map((name) => [
    name,
    read.limit(`SKERRY_${name.toUpperCase()}`, limitDefaults[name]),
  ]);
  // Object.fromEntries forgets which names it was given.
  return Object.fromEntries(entries) as OrganizationLimits;
}

/** Migrations and bootstrap need nothing but the database. */
export function readDatabaseUrl(environment: Environment = process.env): string {
  const read = new Reader(environment);
  const url = read.databaseUrl("SKERRY_DATABASE_URL");
  read.finish();
  return url;
}

/** Undefined: nothing can be sealed. */
export function readRootKeyFile(environment: Environment = process.env): string | undefined {
  const read = new Reader(environment);
  const file = read.optionalPath("SKERRY_ROOT_KEY_FILE");
  read.finish();
  return file;
}

export function readRunAs(environment: Environment = process.env): RunAs | undefined {
  const uidText = environment["SKERRY_RUN_AS_UID"];
  const gidText = environment["SKERRY_RUN_AS_GID"];
  if (uidText === undefined && gidText === undefined) return undefined;
  const read = new Reader(environment);
  const runAs = {
    uid: read.positive("SKERRY_RUN_AS_UID", undefined),
    gid: read.positive("SKERRY_RUN_AS_GID", undefined),
  };
  read.finish();
  return runAs;
}

/** The folder of the clients that are handed out; undefined: none. Read before the process gives up root. */
export function readClientsFolder(environment: Environment = process.env): string | undefined {
  return environment["SKERRY_CLIENTS"];
}

/** The folder of the dashboard; undefined: none. Read before the process gives up root. */
export function readDashboardFolder(environment: Environment = process.env): string | undefined {
  return environment["SKERRY_DASHBOARD_FILES"];
}
