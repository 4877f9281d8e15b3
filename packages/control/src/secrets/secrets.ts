// Secrets of an organization, and of its apps. A value comes in by `setSecret` and leaves by `openSecrets`,
// on its way into a microVM, and by `redactorOf`, to be found in output: no call of the API reads one back.

import { SkerryError } from "@skerry/contract/errors";
import { SECRET_VALUE_MAX_BYTES, SECRETS_MAX, VM_SECRETS_MAX } from "@skerry/contract/secrets/secret-bounds";
import type {
  Secret,
  SecretDeleted,
  SecretHistory,
  SecretList,
  SecretVersion,
} from "@skerry/contract/secrets/secret";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { lockOrganization } from "../limits/organization-limits.ts";
import { boundReached } from "../limits/quota-exceeded.ts";
import type { SealedFor } from "../sealing/sealed-value.ts";
import { Redactor } from "@skerry/contract/secrets/redactor";
import {
  addVersion,
  countSecrets,
  findNewestVersions,
  findSealed,
  findSecrets,
  findVersions,
  removeSecret,
  removeSecrets,
  vmsWith,
  type SecretRow,
  type ShownRow,
  type SecretScope,
} from "./secret-store.ts";

export function ofOrganization({ orgId }: Pick<Caller, "orgId">): SecretScope {
  return { orgId, scope: "organization" };
}

const APP = "app:";

/** Secrets of one app alone, which goes with them. */
export function ofApp({ orgId }: Pick<Caller, "orgId">, appId: string): SecretScope {
  return { orgId, scope: APP + appId };
}

/** Owner of a VM, as its row has it. */
interface VmOwnerColumns {
  readonly org_id: string;
  readonly owner_kind: string | null;
  readonly owner_id: string | null;
}

/** Scopes in which a VM finds its secrets; a later one counts more. */
export function scopesOfVm({ org_id: orgId, owner_kind: kind, owner_id: id }: VmOwnerColumns): SecretScope[] {
  return [ofOrganization({ orgId }), ...(kind === "app" && id !== null ? [ofApp({ orgId }, id)] : [])];
}

export async function listSecrets({ db }: Context, scope: SecretScope): Promise<SecretList> {
  return { items: (await findSecrets(db, scope)).map(shown) };
}

export async function getSecret({ db }: Context, scope: SecretScope, name: string): Promise<SecretHistory> {
  const versions = await findVersions(db, scope, name);
  const [current] = versions;
  if (current === undefined) throw notFound(name);
  return { ...shown(current), versions: versions.map(shownVersion) };
}

interface NewValue {
  readonly name: string;
  readonly value: string;
}

/** Adds a version with this value, which counts from now on. */
export async function setSecret(
  context: Context,
  scope: SecretScope,
  { name, value }: NewValue,
  userId: string,
): Promise<Secret> {
  checkValue(value);
  return changing(context, scope, async (transaction) => {
    const [before] = await findVersions(transaction, scope, name);
    if (before === undefined) await refuseTooMany(transaction, scope);
    const version = (before?.version ?? 0) + 1;
    return write(context, transaction, { scope, name, version, value, userId, rolledBackTo: null });
  });
}

/** Adds a version with the value of an earlier one. */
export async function rollBackSecret(
  context: Context,
  scope: SecretScope,
  { name, version }: { readonly name: string; readonly version: number },
  userId: string,
): Promise<Secret> {
  return changing(context, scope, async (transaction) => {
    const versions = await findVersions(transaction, scope, name);
    const [current] = versions;
    if (current === undefined) throw notFound(name);
    const wanted = versions.find((row) => row.version === version);
    if (wanted === undefined)
      throw new SkerryError("secret_not_found", `The secret ${name} has no version ${version} any more.`, {
        remediation: `It has ${versions.map((row) => row.version).join(", ")}.`,
        context: { name, version },
      });
    const value = await context.sealing.open(transaction, sealedFor(wanted), wanted.sealed_value);
    const next = current.version + 1;
    return write(context, transaction, {
      ...{ scope, name, value, userId },
      ...{ version: next, rolledBackTo: version },
    });
  });
}

export async function deleteSecret(
  context: Context,
  scope: SecretScope,
  name: string,
): Promise<SecretDeleted> {
  const { db, wake } = context;
  await db.transaction().execute(async (transaction) => {
    // A policy that is being stored with it is stored before, and told, or after, and refused its value.
    await lockOrganization(transaction, scope.orgId);
    if (!(await removeSecret(transaction, scope, name))) throw notFound(name);
    await tellRooms(context, transaction, { ...scope, name });
  });
  wake("vm-cleanup");
  const appId = scope.scope.startsWith(APP) ? scope.scope.slice(APP.length) : null;
  return { name, still_in: await vmsWith(db, { orgId: scope.orgId, appId }, name) };
}

/** Forgets all of a scope, with their versions, as what has them goes. */
export function forgetSecrets({ db }: Pick<Context, "db">, scope: SecretScope): Promise<void> {
  return removeSecrets(db, scope);
}

export interface OpenSecret {
  readonly version: number;
  readonly value: string;
}

/**
 * Those of these names that there are; of two scopes that have a name the later one counts. Throws
 * `secrets_unavailable` or `secret_damaged`.
 */
export async function openSecrets(
  { db, sealing }: Pick<Context, "db" | "sealing">,
  scopes: readonly SecretScope[],
  names: readonly string[],
): Promise<ReadonlyMap<string, OpenSecret>> {
  const found = scopes.map(async (scope) => {
    const [rows, open] = await Promise.all([findSealed(db, scope, names), sealing.opener(db, scope.orgId)]);
    return rows.map(
      (row) => [row.name, { version: row.version, value: open(sealedFor(row), row.sealed_value) }] as const,
    );
  });
  return new Map((await Promise.all(found)).flat());
}

/** Throws `forbidden` where the caller may not read secrets. Giving them to a VM or a host needs that, too. */
export function requireToRead(caller: Pick<Caller, "scopes">): void {
  if (caller.scopes.has("secrets:read")) return;
  throw new SkerryError("forbidden", '"secrets" needs the scope "secrets:read" as well.', {
    context: { field: "secrets" },
  });
}

/** Throws `secret_not_found` where there is none of one of these names in any of the scopes. */
export async function requireSecrets(
  { db }: Pick<Context, "db">,
  scopes: readonly SecretScope[],
  names: readonly string[],
): Promise<void> {
  const rows = await Promise.all(scopes.map((scope) => findSealed(db, scope, names)));
  const found = new Set(rows.flat().map(({ name }) => name));
  const missing = names.find((name) => !found.has(name));
  if (missing !== undefined) throw notFound(missing);
}

/** Versions of a secret that are looked for in output, and the longest of their values, sealed. */
const REDACTED_VERSIONS = 3;
const REDACTED_MAX_BYTES = 8 * 1024 + 64;

/**
 * For the output of what was given secrets of these names. It knows their newest versions, of values up to 8
 * KiB, and none of a secret that is deleted. Throws `secrets_unavailable`.
 */
export async function redactorOf(
  context: Pick<Context, "db" | "sealing" | "log">,
  scopes: readonly SecretScope[],
  names: readonly string[],
): Promise<Redactor> {
  if (names.length === 0) return new Redactor([]);
  const values = await Promise.all(scopes.map((scope) => newestValues(context, scope, names)));
  return new Redactor(values.flat());
}

async function newestValues(
  { db, sealing, log }: Pick<Context, "db" | "sealing" | "log">,
  scope: SecretScope,
  names: readonly string[],
): Promise<string[]> {
  const bounds = { names, count: REDACTED_VERSIONS, maxBytes: REDACTED_MAX_BYTES };
  const [rows, open] = await Promise.all([
    findNewestVersions(db, scope, bounds),
    sealing.opener(db, scope.orgId),
  ]);
  return rows.flatMap((row) => {
    try {
      return [open(sealedFor(row), row.sealed_value)];
    } catch (error) {
      // The others are looked for all the same.
      log.warn({ err: error, org_id: scope.orgId, secret: row.name }, "a secret does not open");
      return [];
    }
  });
}

/** Those of one organization are changed one after the other, and not while it is deleted. */
async function changing(
  context: Context,
  scope: SecretScope,
  change: (transaction: Queries) => Promise<SecretRow>,
): Promise<Secret> {
  const { db, wake } = context;
  const row = await db.transaction().execute(async (transaction) => {
    if (!(await lockOrganization(transaction, scope.orgId)))
      throw new SkerryError("organization_not_found", "There is no such organization.");
    const written = await change(transaction);
    await tellRooms(context, transaction, { ...scope, name: written.name });
    return written;
  });
  wake("vm-cleanup");
  return shown(row);
}

/** Runs in the transaction that changes the secret. Those of apps are in no rule of egress. */
async function tellRooms(
  { rooms }: Pick<Context, "rooms">,
  transaction: Queries,
  { scope, ...changed }: SecretScope & { readonly name: string },
): Promise<void> {
  if (scope.startsWith(APP)) return;
  for (const room of rooms) await room.onSecretChanged?.(transaction, changed);
}

interface Written extends NewValue {
  readonly scope: SecretScope;
  readonly version: number;
  readonly userId: string;
  readonly rolledBackTo: number | null;
}

async function write(
  { sealing }: Context,
  transaction: Queries,
  { scope: { orgId, scope }, name, version, value, userId, rolledBackTo }: Written,
): Promise<SecretRow> {
  const key = { org_id: orgId, scope, name, version };
  return addVersion(transaction, {
    ...key,
    sealed_value: await sealing.seal(transaction, sealedFor(key), value),
    digest: await sealing.digest(transaction, orgId, value),
    ...{ rolled_back_to: rolledBackTo, set_by: userId },
  });
}

/** The schema counts characters, and an environment takes no NUL. */
function checkValue(value: string): void {
  if (value.includes("\0"))
    throw new SkerryError("bad_request", "A value has no NUL.", { context: { field: "value" } });
  if (Buffer.byteLength(value) > SECRET_VALUE_MAX_BYTES)
    throw new SkerryError("payload_too_large", `A value has at most ${SECRET_VALUE_MAX_BYTES} bytes.`, {
      context: { field: "value", limit: SECRET_VALUE_MAX_BYTES },
    });
}

async function refuseTooMany(transaction: Queries, scope: SecretScope): Promise<void> {
  const used = await countSecrets(transaction, scope);
  // All of an app's are in each of its instances.
  const limit = scope.scope.startsWith(APP) ? VM_SECRETS_MAX : SECRETS_MAX;
  if (used >= limit) throw boundReached({ quota: "secrets", nouns: "secrets", used, limit });
}

function notFound(name: string): SkerryError {
  return new SkerryError("secret_not_found", `There is no secret ${name}.`, { context: { name } });
}

type SealedKey = Pick<SecretRow, "org_id" | "scope" | "name" | "version">;

function sealedFor({ org_id, scope, name, version }: SealedKey): SealedFor {
  return { owner: org_id, scope: `secret of ${scope}`, name, version };
}

function shown({ name, ...row }: ShownRow): Secret {
  const { rolled_back_to: _, ...version } = shownVersion({ name, ...row });
  return { name, ...version };
}

function shownVersion({ version, digest, set_by, set_at, rolled_back_to }: ShownRow): SecretVersion {
  return { version, digest: digest.toString("hex"), set_by, set_at: set_at.toISOString(), rolled_back_to };
}
