// The environment of this process, read once. Every fault is named, not only the first.

import { AUDIT_KEPT_MIN_DAYS } from "@skerry/contract/bounds";
import { isIP } from "node:net";
import { limitDefaults, limitNames, type OrganizationLimits } from "@skerry/contract/limits/quotas";
import type { InstallationLimits } from "../context.ts";

export interface Config {
  readonly databaseUrl: string;
  readonly listen: { readonly host: string; readonly port: number };
  /** Where metrics are served without a token; undefined: nowhere. */
  readonly metricsListen: Config["listen"] | undefined;
  /** Origins whose pages may call the API from a browser. */
  readonly corsOrigins: readonly string[];
  /** Undefined: no HTTPS. */
  readonly tls: TlsConfig | undefined;
  readonly hostSocket: string;
  readonly logLevel: LogLevel;
  readonly heartbeatIntervalMs: number;
  readonly healthMonitorIntervalMs: number;
  readonly vmCleanupIntervalMs: number;
  readonly cacheCleanupIntervalMs: number;
  readonly proxyCheckIntervalMs: number;
  readonly drainIntervalMs: number;
  readonly reaperIntervalMs: number;
  readonly idlePauserIntervalMs: number;
  /** Audit events that are older are deleted. */
  readonly auditKeptDays: number;
  /** Sandboxes that have been paused for longer are destroyed. */
  readonly pausedKeptDays: number;
  readonly sweeperIntervalMs: number;
  readonly moverIntervalMs: number;
  readonly certificatesIntervalMs: number;
  readonly limits: InstallationLimits;
  /** Proxies whose `X-Forwarded-For` is believed: addresses and networks. */
  readonly trustedProxies: readonly string[];
}

/** HTTPS, beside plain HTTP on the other address. The files are PEM. */
export interface TlsConfig {
  readonly listen: Config["listen"];
  readonly certFile: string;
  readonly keyFile: string;
}

/** What the process should become before it does anything else; undefined: what it is. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

type Environment = Readonly<Record<string, string | undefined>>;

/** The settings are wrong; `faults` says everything that is. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings are wrong:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

/** Each is a series of five metrics. */
const METRICS_ORGANIZATIONS_MAX = 1_000;

export function readConfig(environment: Environment = process.env): Config {
  const read = new Reader(environment);
  const config: Config = {
    databaseUrl: read.databaseUrl("SKERRY_DATABASE_URL"),
    listen: read.address("SKERRY_LISTEN", "127.0.0.1:7070"),
    metricsListen: read.optionalAddress("SKERRY_METRICS_LISTEN"),
    corsOrigins: read.origins("SKERRY_CORS_ORIGINS"),
    tls: readTls(read, environment),
    hostSocket: read.path("SKERRY_HOST_SOCKET", "/run/skerry/host.sock"),
    logLevel: read.oneOf("SKERRY_LOG_LEVEL", logLevels, "info"),
    heartbeatIntervalMs: read.positive("SKERRY_HEARTBEAT_INTERVAL_MS", 10_000),
    healthMonitorIntervalMs: read.positive("SKERRY_HEALTH_MONITOR_INTERVAL_MS", 15_000),
    vmCleanupIntervalMs: read.positive("SKERRY_VM_CLEANUP_INTERVAL_MS", 30_000),
    cacheCleanupIntervalMs: read.positive("SKERRY_CACHE_CLEANUP_INTERVAL_MS", 600_000),
    proxyCheckIntervalMs: read.positive("SKERRY_PROXY_CHECK_INTERVAL_MS", 10_000),
    drainIntervalMs: read.positive("SKERRY_DRAIN_INTERVAL_MS", 10_000),
    reaperIntervalMs: read.positive("SKERRY_REAPER_INTERVAL_MS", 10_000),
    idlePauserIntervalMs: read.positive("SKERRY_IDLE_PAUSER_INTERVAL_MS", 10_000),
    moverIntervalMs: read.positive("SKERRY_MOVER_INTERVAL_MS", 10_000),
    certificatesIntervalMs: read.positive("SKERRY_CERTIFICATES_INTERVAL_MS", 60_000),
    sweeperIntervalMs: read.positive("SKERRY_SWEEPER_INTERVAL_MS", 600_000),
    auditKeptDays: read.atLeast("SKERRY_AUDIT_RETENTION_DAYS", 365, AUDIT_KEPT_MIN_DAYS),
    pausedKeptDays: read.positive("SKERRY_PAUSED_RETENTION_DAYS", 30),
    limits: {
      organization: limitsFrom(read),
      authFailuresPerMinute: read.positive("SKERRY_RATE_AUTH_FAILURES_PER_MINUTE", 60),
      downloadsPerMinute: read.positive("SKERRY_RATE_DOWNLOADS_PER_MINUTE", 120),
      visitorsPerMinute: read.positive("SKERRY_RATE_VISITORS_PER_MINUTE", 3_000),
      vcpusPerCpu: read.positive("SKERRY_VCPUS_PER_CPU", 16),
      // Longer than it takes to find out that the first request's process has died (15 s), so that the usual retry after a crash ends with
      // an answer and not with one more error.
      idempotencyWaitMs: read.positive("SKERRY_IDEMPOTENCY_WAIT_MS", 25_000),
      metricsOrganizations: read.upTo("SKERRY_METRICS_ORGANIZATIONS", 0, METRICS_ORGANIZATIONS_MAX),
    },
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

const INTEGER = /^\d{1,9}$/;
const PORT_MAX = 65_535;

/** Reads settings one by one and remembers what is wrong with each. */
class Reader {
  readonly #environment: Environment;
  readonly #faults: string[] = [];

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  finish(): void {
    if (this.#faults.length > 0) throw new ConfigError(this.#faults);
  }

  /** The value is not repeated in a fault: it may hold a password. */
  databaseUrl(name: string): string {
    const value = this.#environment[name] ?? "";
    if (/^postgres(ql)?:\/\//.test(value)) return value;
    return this.#fault(
      name,
      "must be a PostgreSQL URL, for example postgresql://user@127.0.0.1/skerry",
      value,
    );
  }

  address(name: string, fallback: string): Config["listen"] {
    const value = this.#environment[name] ?? fallback;
    const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(value) ?? [];
    const host = bracketed ?? plain;
    if (host !== undefined && Number(port) <= PORT_MAX) return { host, port: Number(port) };
    return this.#fault(name, "must be an address and a port, for example 127.0.0.1:7070 or [::1]:7070", {
      host: "",
      port: 0,
    });
  }

  optionalAddress(name: string): Config["listen"] | undefined {
    return (this.#environment[name] ?? "") === "" ? undefined : this.address(name, "");
  }

  /** Separated by commas. `*` is refused: a list of origins must name them. */
  origins(name: string): string[] {
    const origins = (this.#environment[name] ?? "").split(",").map((origin) => origin.trim());
    const named = origins.filter((origin) => origin !== "");
    if (named.every((origin) => /^https?:/.test(origin) && URL.parse(origin)?.origin === origin))
      return named;
    return this.#fault(name, "must be origins such as https://app.example.com, separated by commas", []);
  }

  path(name: string, fallback: string): string {
    const value = this.#environment[name] ?? fallback;
    return value.startsWith("/") ? value : this.#fault(name, "must be an absolute path", value);
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const value = this.#environment[name] ?? fallback;
    const found = allowed.find((candidate) => candidate === value);
    return found ?? this.#fault(name, `must be one of ${allowed.join(", ")}`, fallback);
  }

  positive(name: string, fallback: number | undefined): number {
    const text = this.#environment[name];
    if (text === undefined && fallback !== undefined) return fallback;
    const value = INTEGER.test(text ?? "") ? Number(text) : 0;
    return value > 0 ? value : this.#fault(name, "must be a whole number greater than zero", 0);
  }

  atLeast(name: string, fallback: number, minimum: number): number {
    const value = this.positive(name, fallback);
    // Not a number at all is a fault already.
    return value === 0 || value >= minimum
      ? value
      : this.#fault(name, `must be at least ${minimum}`, fallback);
  }

  /** A quota may be nothing at all. */
  limit(name: string, fallback: number): number {
    const text = this.#environment[name];
    if (text === undefined) return fallback;
    return INTEGER.test(text) ? Number(text) : this.#fault(name, "must be a whole number", 0);
  }

  upTo(name: string, fallback: number, maximum: number): number {
    const value = this.limit(name, fallback);
    return value <= maximum ? value : this.#fault(name, `must be at most ${maximum}`, fallback);
  }

  networks(name: string): readonly string[] {
    const texts = (this.#environment[name] ?? "").split(",").map((text) => text.trim());
    const networks = texts.filter((text) => text !== "");
    if (networks.every(isNetwork)) return networks;
    return this.#fault(
      name,
      "must be addresses or networks with commas between, for example 10.0.0.0/8,::1",
      [],
    );
  }

  #fault<T>(name: string, message: string, placeholder: T): T {
    this.#faults.push(`${name} ${message}`);
    return placeholder;
  }
}

function isNetwork(text: string): boolean {
  const [address = "", prefix = "0", ...rest] = text.split("/");
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits;
}
