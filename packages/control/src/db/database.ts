// The connection to PostgreSQL and the shape of its tables. Times come from the database's clock, never from ours.

import {
  Kysely,
  PostgresDialect,
  type ColumnType,
  type Generated,
  type PostgresPool,
  type Transaction,
} from "kysely";
import pg from "pg";
import type { Role } from "@skerry/contract/organizations/roles";
import type { Scope } from "@skerry/contract/organizations/scopes";
import type { Egress } from "@skerry/contract/vms/egress";
import type { HostUsage } from "@skerry/contract/host-api/host-info";
import type { HostStatus, HostDesired } from "@skerry/contract/hosts/host-status";
import type {
  MachineStatus,
  MachineDesired,
  RestartDisk,
  RestartPolicy,
} from "@skerry/contract/machines/machine-status";
import type { MoveStatus } from "@skerry/contract/moves/move-status";
import type { Template } from "@skerry/contract/templates/template";
import type { SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import { boundedPool } from "./bounded-pool.ts";
import { FencedDialect, type Fence } from "./fence.ts";
import { poolWithPipelinedBegin } from "./pipelined-begin.ts";

const POOL_MAX_CONNECTIONS = 20;
const CONNECT_TIMEOUT_MS = 5_000;
/** A new one is a process of PostgreSQL's that knows no statement of ours yet, and a burst opens all at once. */
const IDLE_CONNECTION_MS = 10 * 60_000;
/** No query of ours takes seconds; one that does is stuck behind a lock, and is ended by PostgreSQL. */
const STATEMENT_TIMEOUT_MS = 8_000;
/** After this the server will not answer any more. */
const ANSWER_WITHIN_MS = 10_000;
/** A migration may have many rows to look at. */
const MIGRATION_WITHIN_MS = 30 * 60_000;

type Json<T> = ColumnType<T, string, string>;
/** Read as a Date; written by SQL expressions only. */
type Time = ColumnType<Date, never, never>;
type MaybeTime = ColumnType<Date | null, never, never>;
/** The same where the expression goes through the query builder. */
type SetTime = ColumnType<Date | null, never, Date | null>;

export interface Tables {
  users: { id: string; name: string; email: string | null; created_at: Generated<Date> };
  organizations: {
    id: string;
    name: string;
    operator: boolean;
    egress_default: Egress["mode"];
    allowed_private_cidrs: Generated<readonly string[]>;
    created_at: Generated<Date>;
  };
  memberships: { org_id: string; user_id: string; role: Role; created_at: Generated<Date> };
  api_tokens: {
    id: string;
    org_id: string;
    user_id: string;
    name: string;
    secret_sha256: Buffer;
    parent_id: string | null;
    scopes: readonly Scope[];
    bound: boolean;
    created_at: Generated<Date>;
    expires_at: ColumnType<Date | null, Date | null, never>;
    last_used_at: MaybeTime;
    revoked_at: MaybeTime;
  };
  audit_events: {
    id: string;
    org_id: string;
    at: Time;
    service: string | null;
    user_id: string | null;
    token_id: string | null;
    address: string | null;
    request_id: string | null;
    action: string;
    resource_kind: string;
    resource_id: string | null;
    outcome: "success" | "denied" | "failure";
    code: string | null;
    count: Generated<number>;
  };
  hosts: {
    id: string;
    name: string;
    address: string;
    status: HostStatus;
    desired: Generated<HostDesired>;
    version: Generated<number>;
    status_since: Time;
    waits_for: string | null;
    silent_since: MaybeTime;
    silent_until: MaybeTime;
    unsettled: Generated<boolean>;
    cpus: number;
    memory_mib: number;
    templates: Json<Template[]>;
    facts: Json<Record<string, string>>;
    usage: Json<HostUsage | null>;
    created_at: Generated<Date>;
    last_heartbeat: Time;
    key_sha256: Buffer | null;
    certificate_expires_at: MaybeTime;
    joined: Generated<boolean>;
    removed_at: MaybeTime;
  };
  authority: {
    id: Generated<boolean>;
    certificate: string;
    private_key: string;
    created_at: Generated<Date>;
  };
  join_tokens: {
    id: string;
    secret_sha256: Buffer;
    org_id: string;
    created_by: string;
    created_at: Generated<Date>;
    expires_at: Time;
    host_id: string | null;
  };
  sandboxes: {
    id: string;
    org_id: string;
    name: string | null;
    template: string;
    mode: "ephemeral" | "persistent";
    size: string;
    vcpus: number;
    memory_mib: number;
    disk_gib: number;
    status: SandboxStatus;
    version: Generated<number>;
    execution_id: string;
    host_id: string;
    env: Json<Record<string, string>>;
    metadata: Json<Record<string, string>>;
    egress: Json<Egress>;
    egress_version: Generated<number>;
    egress_applied: Generated<number>;
    timeout_ms: number;
    created_at: Generated<Date>;
    started_at: MaybeTime;
    expires_at: ColumnType<Date, Date, never>;
    destroyed_at: MaybeTime;
    reason: string | null;
    claimed_until: ColumnType<Date | null, Date | null, never>;
    attempts: Generated<number>;
    retry_at: Generated<Date>;
    host_lost: Generated<boolean>;
  };
  machines: {
    id: string;
    org_id: string;
    name: string | null;
    template: string;
    size: string;
    vcpus: number;
    memory_mib: number;
    disk_gib: number;
    status: MachineStatus;
    desired: Generated<MachineDesired>;
    restart_wished: Generated<boolean>;
    version: Generated<number>;
    execution_id: string;
    host_id: string;
    env: Json<Record<string, string>>;
    metadata: Json<Record<string, string>>;
    egress: Json<Egress>;
    egress_version: Generated<number>;
    egress_applied: Generated<number>;
    command: string | null;
    stop_timeout_ms: number;
    restart_policy: RestartPolicy;
    restart_max_retries: number | null;
    restart_disk: Generated<RestartDisk>;
    restarts: Generated<number>;
    retries: Generated<number>;
    exit_code: number | null;
    host_lost: Generated<boolean>;
    created_at: Generated<Date>;
    started_at: SetTime;
    stopped_at: SetTime;
    destroyed_at: SetTime;
    reason: string | null;
    claimed_until: ColumnType<Date | null, Date | null, Date | null>;
    attempts: Generated<number>;
    retry_at: Generated<Date>;
  };
  restarts: { machine_id: string; due_at: Time; queued_at: Time };
  moves: {
    id: string;
    vm_id: string;
    from_host_id: string;
    to_host_id: string;
    from_execution_id: string;
    to_execution_id: string;
    ticket: string;
    vcpus: number;
    memory_mib: number;
    status: MoveStatus;
    version: Generated<number>;
    reason: string | null;
    created_at: Generated<Date>;
    status_since: Generated<Date>;
    attempts: Generated<number>;
    retry_at: Generated<Date>;
  };
  leases: {
    name: string;
    holder: string;
    token: string;
    expires_at: Time;
    due_at: Time;
    rung: Generated<boolean>;
    last_run_at: MaybeTime;
    last_run: Json<LeaseRun | null>;
  };
}

/** What a run of a background service did, or why it failed. */
export interface LeaseRun {
  readonly holder: string;
  readonly duration_ms: number;
  readonly examined?: number;
  readonly changed?: number;
  readonly failed?: number;
  readonly error?: string;
}

export type Database = Kysely<Tables>;
/** What a query runs on: the pool, or a transaction. */
export type Queries = Database | Transaction<Tables>;

/** Opens nothing yet: the pool connects when the first query comes. `onLostConnection` hears of connections that die. */
export function openDatabase(url: string, onLostConnection: (error: Error) => void): Database {
  return open(url, onLostConnection, { statementMs: STATEMENT_TIMEOUT_MS, answerMs: ANSWER_WITHIN_MS });
}

/** The same for a process, or a part of one, that does nothing else. */
export function openForMigration(url: string): Database {
  return open(url, () => undefined, { statementMs: MIGRATION_WITHIN_MS, answerMs: MIGRATION_WITHIN_MS });
}

function open(
  url: string,
  onLostConnection: (error: Error) => void,
  { statementMs, answerMs }: { readonly statementMs: number; readonly answerMs: number },
): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: POOL_MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: statementMs,
    application_name: "skerry-control",
    pipeline: true,
  });
  pool.on("error", onLostConnection);
  // The pool listens only to connections that are idle; one that breaks while a query holds it would end the process.
  pool.on("connect", (client) => client.on("error", onLostConnection));
  const bounded = poolWithPipelinedBegin(boundedPool(pool, answerMs));
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: bounded }) });
  pools.set(db, { pool, bounded });
  return db;
}

const pools = new WeakMap<Database, { readonly pool: pg.Pool; readonly bounded: PostgresPool }>();

/** The same database for one who may write only while a lease is held. Its connections are those of `db`; do not close it. */
export function fencedDatabase(db: Database, fence: Fence): Database {
  const opened = pools.get(db);
  if (opened === undefined) throw new Error("only an opened database can be fenced");
  const fenced = new Kysely<Tables>({ dialect: new FencedDialect(opened.bounded, fence) });
  pools.set(fenced, opened);
  return fenced;
}

/** How many queries wait for a connection at this moment. */
export function waitingQueries(db: Database): number {
  return pools.get(db)?.pool.waitingCount ?? 0;
}

/** Classes of PostgreSQL's own codes: connection exceptions, and the server going down or coming up. */
const OUTAGE_CODES = /^(08...|57P0[123]|53300)$/;
/** The errors of the driver and the socket when no server answers. */
const OUTAGE_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** Whether the database is away, as opposed to having refused what we asked. */
export function isDatabaseOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (typeof code === "string" && OUTAGE_CODES.test(code)) return true;
  // A host that cannot be reached has become a SkerryError before; the only other socket of a handler is the database's.
  if (syscall === "connect" || code === "EPIPE" || code === "ECONNRESET") return true;
  return OUTAGE_MESSAGES.test(error.message);
}
