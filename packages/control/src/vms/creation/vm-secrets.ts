// Secrets in the environment of a microVM: which ones were asked for, and their values when it starts. The
// values go to its host with the request that starts it, and are kept nowhere else.

import { sql } from "kysely";
import { SkerryError } from "@skerry/contract/errors";
import type { VmOwner } from "@skerry/contract/vms/owner";
import type { ShownSecret } from "@skerry/contract/vms/secrets";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import type { Queries } from "../../db/database.ts";
import { openSecrets, requireToRead, scopesOfVm } from "../../secrets/secrets.ts";
import { checkEnv } from "../../values/check-env.ts";

export interface AskedSecret {
  readonly name: string;
  readonly as?: string;
}

/** Organization and owner of a VM. */
interface Tenant {
  readonly orgId: string;
  readonly owner?: VmOwner | undefined;
}

type Variables = Readonly<Record<string, string>>;

export interface GivenSecrets {
  /** As the row has them. */
  readonly secrets: readonly ShownSecret[];
  /** Values, by variable. */
  readonly values: Variables;
}

/**
 * Opens the secrets of a request, as they are now. Throws `forbidden`, `secret_not_found` or `invalid_env`.
 */
export async function askedSecrets(
  context: Context,
  caller: Caller,
  {
    secrets: asked = [],
    env,
    owner,
  }: {
    readonly secrets?: readonly AskedSecret[];
    readonly env: Variables;
    readonly owner?: VmOwner | undefined;
  },
): Promise<GivenSecrets> {
  if (asked.length === 0) return { secrets: [], values: {} };
  refuseTwice(asked, env);
  const given = await openAsked(context, { ...caller, owner }, asked);
  checkWithSecrets(env, given.values);
  return given;
}

/** Throws `forbidden` or `secret_not_found`. */
export async function openAsked(
  context: Context,
  caller: Tenant & Pick<Caller, "scopes">,
  asked: readonly AskedSecret[],
): Promise<GivenSecrets> {
  // Creating a VM is a way to read them: every command in it can.
  requireToRead(caller);
  return openNamed(context, caller, asked);
}

/** The same for a caller who was allowed to before. Throws `secret_not_found`. */
export async function openNamed(
  context: Context,
  tenant: Tenant,
  asked: readonly AskedSecret[],
): Promise<GivenSecrets> {
  const secrets = asked.map(({ name, as = name }) => ({ name, as, version: null, given_at: null }));
  const { orgId: org_id, owner } = tenant;
  const row = { org_id, owner_kind: owner?.kind ?? null, owner_id: owner?.id ?? null };
  const given = await open(context, row, secrets);
  const missing = given.secrets.find(({ version }) => version === null);
  if (missing === undefined) return given;
  throw new SkerryError("secret_not_found", `There is no secret ${missing.name}.`, {
    context: { field: "secrets", name: missing.name },
  });
}

/** Throws `invalid_env` where two secrets, or a secret and `env`, give the same variable. */
export function refuseTwice(secrets: readonly AskedSecret[], env: Variables): void {
  const taken = new Set(Object.keys(env));
  for (const { name, as = name } of secrets) {
    if (taken.has(as))
      throw new SkerryError("invalid_env", `The variable ${as} is given twice.`, {
        remediation: 'Give a secret another variable with "as", or leave the variable out of "env".',
        context: { field: "secrets", name: as },
      });
    taken.add(as);
  }
}

interface StartingVm {
  readonly id: string;
  readonly org_id: string;
  readonly env: Readonly<Record<string, string | null>>;
  readonly secrets: ShownSecret[] | null;
  readonly owner_kind: string | null;
  readonly owner_id: string | null;
}

/** Values for a VM that starts again, each in the version of now; one that is deleted is not among them. */
export async function secretsAtStart(context: Context, row: StartingVm): Promise<Variables> {
  if (row.secrets === null || row.secrets.length === 0) return {};
  const { secrets, values } = await open(context, row, row.secrets);
  await sql`update vms set secrets = ${JSON.stringify(secrets)}::jsonb where id = ${row.id}`.execute(
    context.db,
  );
  checkWithSecrets(row.env as Variables, values);
  return values;
}

/**
 * Throws `invalid_env` where they are too long together: a value may have become longer since the VM was
 * created.
 */
function checkWithSecrets(env: Variables, values: Variables): void {
  try {
    checkEnv({ ...env, ...values });
  } catch (error) {
    if (!(error instanceof SkerryError)) throw error;
    throw new SkerryError("invalid_env", `${error.message} The secrets are variables as well.`, {
      remediation: "Set a shorter value of a secret, delete one, or give fewer variables.",
      context: { ...error.context, field: "secrets" },
    });
  }
}

async function open(
  context: Context,
  row: Parameters<typeof scopesOfVm>[0],
  secrets: readonly ShownSecret[],
): Promise<GivenSecrets> {
  const names = secrets.map(({ name }) => name);
  const opened = await openSecrets(context, scopesOfVm(row), names);
  const at = new Date().toISOString();
  const values: [string, string][] = [];
  const given = secrets.map(({ name, as }) => {
    const found = opened.get(name);
    if (found === undefined) return { name, as, version: null, given_at: null };
    values.push([as, found.value]);
    return { name, as, version: found.version, given_at: at };
  });
  return { secrets: given, values: Object.fromEntries(values) };
}

/**
 * Marks a VM that goes back to a snapshot whose memory may have secrets, as its next snapshots have them too.
 */
export async function noteSecretsOf(
  db: Queries,
  id: string,
  snapshot: { readonly contains_secrets: boolean },
): Promise<void> {
  if (!snapshot.contains_secrets) return;
  await sql`update vms set secrets = '[]' where id = ${id} and secrets is null`.execute(db);
}

/** Text for the column of a row that is written. */
export function storedSecrets(secrets: readonly ShownSecret[] | null): string | null {
  return secrets === null ? null : JSON.stringify(secrets);
}

/** Secrets of a new VM: its own, or none where it begins at a snapshot whose memory may have some. */
export function secretsOfNew(
  { secrets }: GivenSecrets,
  snapshot: { readonly contains_secrets: boolean } | undefined,
): readonly ShownSecret[] | null {
  return secrets.length > 0 || snapshot?.contains_secrets === true ? secrets : null;
}
