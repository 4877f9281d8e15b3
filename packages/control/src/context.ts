import type { Logger } from "pino";
import type { RegistryMirror } from "@skerry/build-plan/scripts/registry-files";
import type { AuditAction } from "@skerry/contract/audit/audit-actions";
import type { OrganizationLimits } from "@skerry/contract/limits/quotas";
import type { HostDirectory } from "./host-client/host-directory.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { Database, Queries } from "./db/database.ts";
import type { Kept } from "./db/keep-newest.ts";
import type { AuditTrail } from "./audit/audit-trail.ts";
import type { AccessWatch } from "./auth/access-watch.ts";
import type { CertificateAuthority } from "./joining/certificate-authority.ts";
import type { TokenCache } from "./auth/token-cache.ts";
import type { Sealing } from "./sealing/sealing.ts";
import type { SigningKeys } from "./signing/signing-keys.ts";
import type { Bucket } from "./object-store/bucket.ts";
import type { HostCapacity } from "./capacity/host-capacity.ts";
import type { OpenStreams } from "./vms/open-streams.ts";
import type { VmLocations } from "./vms/vm-locations.ts";
import type { ClientFiles } from "./clients/client-files.ts";
import type { DashboardFiles } from "./web/dashboard-files.ts";

/** What every service works with. Made once, in main. */
/** Addresses of apps: `{app}.{domain}`, on this port of hosts. */
export interface AppAddresses {
  readonly domain: string;
  readonly port: number;
  /** Ports of hosts for services of plain TCP; absent: there are none. */
  readonly tcpPorts?: { readonly first: number; readonly last: number } | undefined;
}

export interface Context {
  readonly db: Database;
  readonly hosts: HostDirectory;
  /** What is free on the hosts. */
  readonly hostCapacity: HostCapacity;
  /** Where VMs are. */
  readonly vmLocations: VmLocations;
  /** Followed output and logs, watches and terminals. */
  readonly openStreams: OpenStreams;
  readonly openForwards: OpenStreams;
  /** Contexts of builds that are on their way. */
  readonly openUploads: OpenStreams;
  /** Archives of E2B's clients that are on their way. */
  readonly openArchives: OpenStreams;
  readonly authority: CertificateAuthority;
  /** Of what the database must not tell to those who read it. */
  readonly sealing: Sealing;
  /** The way of events into the audit log. */
  readonly trail: AuditTrail;
  /** Keys of signed URLs, and of what E2B's clients get. */
  readonly signing: SigningKeys;
  /** Undefined: none is set. */
  readonly objectStore: Bucket | undefined;
  readonly registries: RegistrySettings;
  readonly logs: LogSettings;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Of validated tokens. */
  readonly tokenCache: TokenCache;
  /** Re-authorizes long-running requests. */
  readonly watch: AccessWatch;
  readonly limits: InstallationLimits;
  /** What builds reach that say nothing of it; empty: what the sandboxes of their organization do. */
  readonly buildDomains: readonly string[];
  readonly apps: AppAddresses;
  /** Below which ports have names; undefined: nowhere. */
  readonly sandboxDomain: string | undefined;
  /** There is no such domain, and clients on this machine reach ports below `localhost`. */
  readonly hasLocalPorts: boolean;
  /** The clients that are handed out. */
  readonly clients: ClientFiles;
  /** Undefined: it was turned off, or not built. */
  readonly dashboard: DashboardFiles | undefined;
  /** Whether clients of E2B are served. */
  readonly e2b: boolean;
  /** Code that deletes an organization, loses or removes a host, or sweeps, calls each of them and knows none. */
  readonly rooms: readonly Room[];
  /** State that rooms keep for as long as this process runs; see `stateOf`. */
  readonly state: ContextState;
  /** All background services, in the order of their rooms. */
  readonly serviceNames: readonly ServiceName[];
  /** Makes a background service due now, for all replicas. */
  readonly wake: (service: ServiceName) => void;
}

/** Caches, queues and budgets of one control process, by what makes them. */
export class ContextState {
  readonly #made = new Map<object, unknown>();

  /** The state that `key` stands for, made when it is first asked for. */
  made<State>(key: object, make: () => State): State {
    if (!this.#made.has(key)) this.#made.set(key, make());
    return this.#made.get(key) as State;
  }
}

/**
 * A room's own state: the function finds it in a context, and makes it there with the first caller's context.
 * A second control plane in the same process, as tests open it, has its own; services share that of their
 * process.
 */
export function stateOf<State>(make: (context: Context) => State): (context: Context) => State {
  return (context) => context.state.made(make, () => make(context));
}

/** What the operator says of registries of images. */
export interface RegistrySettings {
  readonly mirrors: readonly RegistryMirror[];
  /** PEM of authorities that their certificates may be of; undefined: those alone that guests trust. */
  readonly caFile: string | undefined;
}

/** Settings of the operator for receivers of logs. */
export interface LogSettings {
  /** Receiver of the logs of all apps; undefined: there is none. */
  readonly forward: string | undefined;
  /** PEM of authorities that certificates of receivers may be of, beside those of this machine. */
  readonly caFile: string | undefined;
  /** Private networks in which receivers of organizations may be. */
  readonly privateCidrs: readonly string[];
  /** Servers that resolve names of their receivers; undefined: those of this machine. */
  readonly nameServers?: readonly string[];
}

/** Background services by name. Each room adds its own. A service runs on one replica at a time. */
export interface Services {}
export type ServiceName = keyof Services;

/** What the operator allows. */
export interface InstallationLimits {
  /** For each organization without exceptions of its own. */
  readonly organization: OrganizationLimits;
  /** Invalid tokens from one address. */
  readonly authFailuresPerMinute: number;
  /** By one address, of what needs no token: clients, the page and the document of the API. */
  readonly downloadsPerMinute: number;
  /** By one address, of requests without a token to ports and files of microVMs. */
  readonly visitorsPerMinute: number;
  /** Memory is promised once. CPUs are shared by weight, so a host may promise each of its own this many times. */
  readonly vcpusPerCpu: number;
  /** How long a second request with an Idempotency-Key waits for the first. */
  readonly idempotencyWaitMs: number;
  /** GiB of the build cache, for each organization, and on each host. 0: nothing is cached. */
  readonly buildCacheGib: number;
  readonly buildCacheHostGib: number;
  /** What steps of a build have to take for their result to be cached. */
  readonly buildCacheStepMs: number;
  /** Organizations that metrics tell apart; 0: none. */
  readonly metricsOrganizations: number;
}

/**
 * Removes at most `limit` rows that are kept for a while only, of all organizations. Resolves with their
 * number.
 */
export type Sweep = (db: Database, limit: number) => Promise<number>;

/** The same of one organization. */
export type OrganizationSweep = (db: Database, orgId: string, limit: number) => Promise<number>;

/** Hosts that are not heard of any more. */
export interface LostHosts {
  readonly hosts: readonly LostHost[];
  /** Name of what finds them, for the audit log. */
  readonly service: string;
}

export interface LostHost {
  readonly id: string;
  readonly name: string;
  /** Whether this transaction has marked it. */
  readonly is_new: boolean;
}

/** Losses of a room with those hosts. */
export interface Losses {
  readonly vms: number;
  /** Runs once they are committed. */
  readonly tell?: (context: Context) => void;
}

/** The part of a room in work on all that an organization or a host has, and in the sweeping of old rows. */
export interface Room {
  /** Actions in the audit log that no operation has: its services do them, or a call causes them. */
  readonly ownActs?: readonly AuditAction[];
  /** Sweeps, by the name that the log has for each. */
  readonly sweeps?: Readonly<Record<string, Sweep>>;
  readonly organizationSweeps?: Readonly<Record<string, OrganizationSweep>>;
  /** Rules by which the newest rows of an organization are kept. */
  readonly kept?: Readonly<Record<string, Kept>>;
  /** Runs in the transaction that deletes the organization. Throws to prevent it. */
  onOrganizationDeleted?(transaction: Queries, orgId: string): Promise<void>;
  /** Runs in the transaction that replaces the private networks that the organization was granted. */
  onPrivateCidrs?(
    transaction: Queries,
    grant: { readonly orgId: string; readonly cidrs: readonly string[] },
  ): Promise<void>;
  /** Runs in the transaction that sets, rolls back or deletes a secret of the organization. */
  onSecretChanged?(
    transaction: Queries,
    changed: { readonly orgId: string; readonly name: string },
  ): Promise<void>;
  /**
   * Runs in the transaction that marks hosts offline, and in later ones for as long as they are: what a request
   * is still at work on is left to it.
   */
  onHostsLost?(transaction: Queries, lost: LostHosts): Promise<Losses>;
  /** Runs in the transaction that removes the host, from which nothing comes back. */
  onHostRemoved?(transaction: Queries, hostId: string): Promise<void>;
  /** Confirms destructions that no host is left to confirm. Resolves with their number. */
  endOnRemovedHosts?(db: Queries): Promise<number>;
}
