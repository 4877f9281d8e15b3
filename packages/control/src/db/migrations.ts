// Numbered SQL, each applied once, in order. The texts are modules, not files, so that a bundle carries them.

import { sql, type Transaction } from "kysely";
import type { Database, Queries, Tables } from "./database.ts";
import { foundation } from "./migrations/0001-foundation.ts";
import { egress } from "./migrations/0002-egress.ts";
import { tokenParents } from "./migrations/0003-token-parents.ts";
import { access } from "./migrations/0004-access.ts";
import { idempotency } from "./migrations/0005-idempotency.ts";
import { limits } from "./migrations/0006-limits.ts";
import { observability } from "./migrations/0007-observability.ts";
import { hostsAndMachines } from "./migrations/0008-hosts-and-machines.ts";
import { joinedHosts } from "./migrations/0009-joined-hosts.ts";
import { moves } from "./migrations/0010-moves.ts";
import { roomEntries } from "./migrations/0011-room-entries.ts";
import { disksThatStay } from "./migrations/0012-disks-that-stay.ts";
import { sharedLimits } from "./migrations/0013-shared-limits.ts";
import { privateCidrs } from "./migrations/0014-private-cidrs.ts";
import { authorityRotation } from "./migrations/0015-authority-rotation.ts";
import { controlGeneration } from "./migrations/0016-control-generation.ts";
import { vmNames } from "./migrations/0017-vm-names.ts";
import { erasedEnv } from "./migrations/0018-erased-env.ts";
import { deletedOrganizations } from "./migrations/0019-deleted-organizations.ts";
import { auditDetails } from "./migrations/0020-audit-details.ts";
import { persistentSandboxes } from "./migrations/0021-persistent-sandboxes.ts";
import { ports } from "./migrations/0022-ports.ts";
import { snapshots } from "./migrations/0023-snapshots.ts";
import { idleSandboxes } from "./migrations/0024-idle-sandboxes.ts";
import { vmEvents } from "./migrations/0025-vm-events.ts";
import { machineSnapshots } from "./migrations/0026-machine-snapshots.ts";
import { changes } from "./migrations/0027-changes.ts";
import { usage } from "./migrations/0028-usage.ts";
import { machineEnds } from "./migrations/0029-machine-ends.ts";
import { sessions } from "./migrations/0030-sessions.ts";
import { loginCodes } from "./migrations/0031-login-codes.ts";
import { sessionSweeps } from "./migrations/0032-session-sweeps.ts";
import { builds } from "./migrations/0033-builds.ts";
import { autoResume } from "./migrations/0034-auto-resume.ts";
import { denials } from "./migrations/0035-denials.ts";
import { frozenMemory } from "./migrations/0036-frozen-memory.ts";
import { templateCopies } from "./migrations/0037-template-copies.ts";
import { e2bBuilds } from "./migrations/0040-e2b-builds.ts";
import { sealing } from "./migrations/0041-sealing.ts";
import { buildDenials } from "./migrations/0042-build-denials.ts";
import { buildCommits } from "./migrations/0044-build-commits.ts";
import { buildCache } from "./migrations/0045-build-cache.ts";
import { e2bSandboxes } from "./migrations/0046-e2b-sandboxes.ts";
import { storedLayers } from "./migrations/0048-stored-layers.ts";
import { signingKeys } from "./migrations/0050-signing-keys.ts";
import { boundedRows } from "./migrations/0051-bounded-rows.ts";
import { pausedEphemeral } from "./migrations/0052-paused-ephemeral.ts";
import { rollbacks } from "./migrations/0053-rollbacks.ts";
import { clockEras } from "./migrations/0054-clock-eras.ts";
import { stopsThatFail } from "./migrations/0055-stops-that-fail.ts";
import { pulledApart } from "./migrations/0056-pulled-apart.ts";
import { endedRollbacks } from "./migrations/0057-ended-rollbacks.ts";
import { waits } from "./migrations/0058-waits.ts";
import { lastBackup } from "./migrations/0059-last-backup.ts";
import { invitations } from "./migrations/0061-invitations.ts";
import { changedMachines } from "./migrations/0062-changed-machines.ts";
import { keptExecutions } from "./migrations/0064-kept-executions.ts";
import { healthChecks } from "./migrations/0067-health-checks.ts";
import { idleMachines } from "./migrations/0068-idle-machines.ts";
import { vms } from "./migrations/0069-vms.ts";
import { ownedVms } from "./migrations/0070-owned-vms.ts";
import { capacityEntries } from "./migrations/0071-capacity-entries.ts";
import { secrets } from "./migrations/0072-secrets.ts";
import { vmSecrets } from "./migrations/0073-vm-secrets.ts";
import { injectedEvents } from "./migrations/0074-injected-events.ts";
import { injectedCounts } from "./migrations/0075-injected-counts.ts";
import { apps } from "./migrations/0076-apps.ts";
import { appBuilds } from "./migrations/0077-app-builds.ts";
import { endedInstances } from "./migrations/0078-ended-instances.ts";
import { routes } from "./migrations/0079-routes.ts";
import { watchedDeploys } from "./migrations/0080-watched-deploys.ts";
import { appTraffic } from "./migrations/0081-app-traffic.ts";
import { appMaintenance } from "./migrations/0082-app-maintenance.ts";
import { routePorts } from "./migrations/0083-route-ports.ts";
import { instanceFaults } from "./migrations/0084-instance-faults.ts";
import { tcpPorts } from "./migrations/0085-tcp-ports.ts";
import { routeTraffic } from "./migrations/0086-route-traffic.ts";
import { appChanges } from "./migrations/0087-app-changes.ts";
import { stagedEnv } from "./migrations/0088-staged-env.ts";
import { ownedTemplates } from "./migrations/0089-owned-templates.ts";
import { logForwards } from "./migrations/0090-log-forwards.ts";
import { newestOf, whyCannotServe, type AppliedMigration } from "./schema-versions.ts";

/**
 * Only ever append. A number that is missing belongs to a change that is still on its way; it is applied when it comes, also to
 * a database that has later ones, so neighbours in this list must not build on each other unless both are here.
 */
const migrations = [
  { number: 1, name: "foundation", text: foundation },
  { number: 2, name: "egress", text: egress },
  { number: 3, name: "token-parents", text: tokenParents },
  { number: 4, name: "access", text: access },
  { number: 5, name: "idempotency", text: idempotency },
  { number: 6, name: "limits", text: limits },
  { number: 7, name: "observability", text: observability },
  { number: 8, name: "hosts-and-machines", text: hostsAndMachines },
  { number: 9, name: "joined-hosts", text: joinedHosts },
  { number: 10, name: "moves", text: moves },
  { number: 11, name: "room-entries", text: roomEntries },
  { number: 12, name: "disks-that-stay", text: disksThatStay },
  { number: 13, name: "shared-limits", text: sharedLimits },
  { number: 14, name: "private-cidrs", text: privateCidrs },
  { number: 15, name: "authority-rotation", text: authorityRotation },
  { number: 16, name: "control-generation", text: controlGeneration },
  { number: 17, name: "vm-names", text: vmNames },
  { number: 18, name: "erased-env", text: erasedEnv },
  { number: 19, name: "deleted-organizations", text: deletedOrganizations },
  { number: 20, name: "audit-details", text: auditDetails },
  { number: 21, name: "persistent-sandboxes", text: persistentSandboxes },
  { number: 22, name: "ports", text: ports },
  { number: 23, name: "snapshots", text: snapshots },
  { number: 24, name: "idle-sandboxes", text: idleSandboxes },
  { number: 25, name: "vm-events", text: vmEvents },
  { number: 26, name: "machine-snapshots", text: machineSnapshots },
  { number: 27, name: "changes", text: changes },
  { number: 28, name: "usage", text: usage },
  { number: 29, name: "machine-ends", text: machineEnds },
  { number: 30, name: "sessions", text: sessions },
  { number: 31, name: "login-codes", text: loginCodes },
  { number: 32, name: "session-sweeps", text: sessionSweeps },
  { number: 33, name: "builds", text: builds },
  { number: 34, name: "auto-resume", text: autoResume },
  { number: 35, name: "denials", text: denials },
  { number: 36, name: "frozen-memory", text: frozenMemory },
  { number: 37, name: "template-copies", text: templateCopies },
  { number: 40, name: "e2b-builds", text: e2bBuilds },
  { number: 41, name: "sealing", text: sealing },
  { number: 42, name: "build-denials", text: buildDenials },
  { number: 44, name: "build-commits", text: buildCommits },
  { number: 45, name: "build-cache", text: buildCache },
  { number: 46, name: "e2b-sandboxes", text: e2bSandboxes },
  { number: 48, name: "stored-layers", text: storedLayers },
  { number: 50, name: "signing-keys", text: signingKeys },
  { number: 51, name: "bounded-rows", text: boundedRows },
  { number: 52, name: "paused-ephemeral", text: pausedEphemeral },
  { number: 53, name: "rollbacks", text: rollbacks },
  { number: 54, name: "clock-eras", text: clockEras },
  { number: 55, name: "stops-that-fail", text: stopsThatFail },
  { number: 56, name: "pulled-apart", text: pulledApart },
  { number: 57, name: "ended-rollbacks", text: endedRollbacks },
  { number: 58, name: "waits", text: waits },
  { number: 59, name: "last-backup", text: lastBackup },
  { number: 61, name: "invitations", text: invitations },
  { number: 62, name: "changed-machines", text: changedMachines },
  { number: 64, name: "kept-executions", text: keptExecutions },
  { number: 67, name: "health-checks", text: healthChecks },
  { number: 68, name: "idle-machines", text: idleMachines },
  { number: 69, name: "vms", text: vms },
  { number: 70, name: "owned-vms", text: ownedVms },
  { number: 71, name: "capacity-entries", text: capacityEntries },
  { number: 72, name: "secrets", text: secrets },
  { number: 73, name: "vm-secrets", text: vmSecrets },
  { number: 74, name: "injected-events", text: injectedEvents },
  { number: 75, name: "injected-counts", text: injectedCounts },
  { number: 76, name: "apps", text: apps },
  { number: 77, name: "app-builds", text: appBuilds },
  { number: 78, name: "ended-instances", text: endedInstances },
  { number: 79, name: "routes", text: routes },
  { number: 80, name: "watched-deploys", text: watchedDeploys },
  { number: 81, name: "app-traffic", text: appTraffic },
  { number: 82, name: "app-maintenance", text: appMaintenance },
  { number: 83, name: "route-ports", text: routePorts },
  { number: 84, name: "instance-faults", text: instanceFaults },
  { number: 85, name: "tcp-ports", text: tcpPorts },
  { number: 86, name: "route-traffic", text: routeTraffic },
  { number: 87, name: "app-changes", text: appChanges },
  { number: 88, name: "staged-env", text: stagedEnv },
  { number: 89, name: "owned-templates", text: ownedTemplates },
  { number: 90, name: "log-forwards", text: logForwards },
] as const;

/** The newest migration of the release before this one. Each one above it runs while that release still serves, so that release can also be
 *  gone back to. With a release it becomes the newest number of that time. */
const RELEASED = 16;

/** Versions from this migration on read the authority's key where it is sealed; those before it do not. */
const READS_SEALED_AUTHORITY = 41;

/** Any number that no other user of the database's advisory locks takes; all replicas must agree on it. */
const MIGRATION_LOCK = 7_070_001;

export const knownMigrations: readonly number[] = migrations.map(({ number }) => number);
export const migrationCount = migrations.length;

/** Brings the schema up to date and returns how many migrations that took. Replicas that start together take turns. */
export async function migrate(db: Database): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    await lockMigrations(transaction);
    return applyMigrations(transaction);
  });
}

export async function lockMigrations(transaction: Transaction<Tables>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction);
}

/** Applies those that the database lacks, or of these only the ones that `isWanted` names. */
export async function applyMigrations(
  transaction: Transaction<Tables>,
  isWanted: (number: number) => boolean = () => true,
): Promise<number> {
  await makeTable(transaction);
  const applied = await appliedMigrations(transaction);
  refuseUnknown(applied);
  const done = new Set(applied.map(({ number }) => number));
  const missing = migrations.filter(({ number }) => !done.has(number) && isWanted(number));
  // An older version has never served a new database, so what it cannot read may be in there from the beginning, and it must not start beside.
  const isNew = applied.length === 0;
  for (const { number, name, text } of missing) {
    // Without parameters PostgreSQL takes several statements in one query.
    await sql.raw(text).execute(transaction);
    const servesWith = isNew && number === READS_SEALED_AUTHORITY ? null : servesWithOf(number);
    await sql`
      insert into schema_migrations (number, name, serves_with) values (${number}, ${name}, ${servesWith})`.execute(
      transaction,
    );
  }
  return missing.length;
}

/** Whether no version that cannot read a sealed key of the authority may serve with this database. */
export async function authorityMayBeSealed(db: Queries): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select exists (select from schema_migrations
      where serves_with is null and number = ${READS_SEALED_AUTHORITY} or serves_with >= ${READS_SEALED_AUTHORITY}) as may`.execute(
    db,
  );
  return rows[0]?.may === true;
}

/** Ends the way back to versions that cannot read it: from now on they refuse to start with this database. */
export async function requireReadersOfSealedAuthority(db: Queries): Promise<void> {
  await sql`update schema_migrations set serves_with = null where number = ${READS_SEALED_AUTHORITY}`.execute(
    db,
  );
}

/** Throws where this version must not work with the database. Changes nothing. */
export async function checkSchema(db: Database): Promise<readonly number[]> {
  const { rows } = await sql<{ known: boolean }>`
    select exists (select from information_schema.columns
                   where table_name = 'schema_migrations' and column_name = 'serves_with') as known`.execute(
    db,
  );
  // Of a version before that column, which is older than this one.
  if (rows[0]?.known !== true) return [];
  const applied = await appliedMigrations(db);
  refuseUnknown(applied);
  return applied.map(({ number }) => number);
}

/** Why a version that knows these migrations could not serve a database that this one has migrated; undefined where it could. */
export function wayBackFault(known: readonly number[]): string | undefined {
  const all = knownMigrations.map((number) => ({ number, serves_with: servesWithOf(number) }));
  return whyCannotServe(all, { known, newest: newestOf(known) });
}

function servesWithOf(number: number): number | null {
  return number > RELEASED ? RELEASED : null;
}

function refuseUnknown(applied: readonly AppliedMigration[]): void {
  const fault = whyCannotServe(applied, { known: knownMigrations, newest: newestOf(knownMigrations) });
  if (fault !== undefined) throw new Error(fault);
}

async function makeTable(transaction: Transaction<Tables>): Promise<void> {
  await sql`
    create table if not exists schema_migrations (
      number integer primary key,
      name text not null,
      applied_at timestamptz not null default now()
    )`.execute(transaction);
  await sql`alter table schema_migrations add column if not exists serves_with integer`.execute(transaction);
}

async function appliedMigrations(
  queries: Database | Transaction<Tables>,
): Promise<readonly AppliedMigration[]> {
  const { rows } =
    await sql<AppliedMigration>`select number, serves_with from schema_migrations order by number`.execute(
      queries,
    );
  return rows;
}
