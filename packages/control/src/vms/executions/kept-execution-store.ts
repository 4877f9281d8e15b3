// Rows of commands whose output outlives their sandbox.

import { sql, type Selectable } from "kysely";
import type { ExecuteExit } from "@skerry/contract/vms/execute";
import type { Queries, Tables } from "../../db/database.ts";
import { forgetBeyond, type Kept } from "../../db/keep-newest.ts";
import { ago, steadyNow } from "../../db/steady-time.ts";

export type KeptRow = Selectable<Tables["kept_executions"]>;
/** Without its output. */
export type KeptHead = Omit<KeptRow, "stdout" | "stderr">;

const head = sql`id, org_id, sandbox_id, command, destroys_sandbox, started_at, ended_at, reason, exit, position`;

export const endedExecutions: Kept = {
  table: "kept_executions",
  isOver: sql`ended_at is not null`,
  since: sql`ended_at`,
  days: 1,
  minutesMin: 0,
  rowsMax: 1_000,
  bytes: sql`octet_length(stdout) + octet_length(stderr) + octet_length(command) + coalesce(pg_column_size(exit), 0)`,
  bytesMax: 64 * 1024 * 1024,
};

/** Each that ends removes what is too much, so that no more than two are over. */
const FORGOTTEN_AT_ONCE = 100;

/** False where the sandbox has one that runs. */
export async function insertKept(
  db: Queries,
  row: Pick<KeptRow, "id" | "org_id" | "sandbox_id" | "command" | "destroys_sandbox">,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    insert into kept_executions (id, org_id, sandbox_id, command, destroys_sandbox, started_at)
    values (${row.id}, ${row.org_id}, ${row.sandbox_id}, ${row.command}, ${row.destroys_sandbox}, ${steadyNow})
    on conflict (sandbox_id) where ended_at is null do nothing`.execute(db);
  return numAffectedRows === 1n;
}

export async function deleteKept(db: Queries, id: string): Promise<void> {
  await sql`delete from kept_executions where id = ${id}`.execute(db);
}

export async function findRunning(db: Queries, sandboxId: string): Promise<KeptHead | undefined> {
  const { rows } = await sql<KeptHead>`
    select ${head} from kept_executions where sandbox_id = ${sandboxId} and ended_at is null`.execute(db);
  return rows[0];
}

export async function listKept(
  db: Queries,
  {
    orgId,
    before,
    limit,
  }: { readonly orgId: string; readonly before: string | undefined; readonly limit: number },
): Promise<KeptHead[]> {
  const { rows } = await sql<KeptHead>`
    select ${head} from kept_executions
    where org_id = ${orgId} and (${before ?? null}::text is null or id < ${before ?? null})
    order by id desc limit ${limit}`.execute(db);
  return rows;
}

export async function findKept(db: Queries, orgId: string, id: string): Promise<KeptRow | undefined> {
  const { rows } = await sql<KeptRow>`
    select * from kept_executions where org_id = ${orgId} and id = ${id}`.execute(db);
  return rows[0];
}

export interface End {
  readonly exit: ExecuteExit | null;
  readonly reason: string | null;
  readonly position: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export async function endKept(
  db: Queries,
  { id, org_id }: Pick<KeptRow, "id" | "org_id">,
  { exit, reason, position, stdout, stderr }: End,
): Promise<void> {
  await sql`
    update kept_executions set
      ended_at = ${steadyNow}, exit = ${exit === null ? null : JSON.stringify(exit)}, reason = ${reason},
      position = ${position}, stdout = ${stdout}, stderr = ${stderr}
    where id = ${id} and ended_at is null`.execute(db);
  await forgetBeyond(db, endedExecutions, { orgId: org_id, limit: FORGOTTEN_AT_ONCE });
}

/** One that runs as far as is known, and where to ask for it. */
export interface Ending {
  readonly id: string;
  readonly org_id: string;
  readonly sandbox_id: string;
  readonly execution_id: string;
  readonly address: string;
  readonly destroys_sandbox: boolean;
  /** So old that a host which does not know it never will. */
  readonly is_settled: boolean;
}

/** In no order, so that with more of them than that each has its turn. */
export async function listEnding(db: Queries, limit: number): Promise<Ending[]> {
  const { rows } = await sql<Ending>`
    select kept.id, kept.org_id, kept.sandbox_id, kept.destroys_sandbox, sandboxes.execution_id, hosts.address,
      kept.started_at < ${ago(sql`interval '1 minute'`)} as is_settled
    from kept_executions kept
    join sandboxes on sandboxes.id = kept.sandbox_id
    join hosts on hosts.id = sandboxes.host_id
    where kept.ended_at is null and sandboxes.status = 'running'
      and hosts.status <> 'offline' and hosts.removed_at is null
    order by random() limit ${limit}`.execute(db);
  return rows;
}

/** Those whose sandbox is over, with why it is. */
export async function listOrphaned(
  db: Queries,
  limit: number,
): Promise<Pick<KeptRow, "id" | "org_id" | "reason">[]> {
  const { rows } = await sql<Pick<KeptRow, "id" | "org_id" | "reason">>`
    select kept.id, kept.org_id, sandboxes.reason
    from kept_executions kept left join sandboxes on sandboxes.id = kept.sandbox_id
    where kept.ended_at is null and (sandboxes.id is null or sandboxes.status in ('failed', 'destroyed'))
    limit ${limit}`.execute(db);
  return rows;
}
