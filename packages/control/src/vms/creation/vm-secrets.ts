// Secrets in the environment of a microVM: which ones were asked for, and their values when it starts. The values
// go to its host with the request that starts it, and are kept nowhere else.

import { sql } from "kysely";
import { SkerryError } from "@skerry/contract/errors";
import type { ShownSecret } from "@skerry/contract/vms/secrets";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { ofOrganization, openSecrets } from "../../secrets/secrets.ts";
import { checkEnv } from "../../values/check-env.ts";

export interface AskedSecret {
  readonly name: string;
  readonly as?: string;
}

type Variables = Readonly<Record<string, string>>;

export interface GivenSecrets {
  /** What the row says of them. */
  readonly secrets: readonly ShownSecret[];
  /** By variable. */
  readonly values: Variables;
}

/** Secrets of a request, as they are now. Throws `forbidden`, `secret_not_found` or `invalid_env`. */
export async function askedSecrets(
  context: Context,
  caller: Caller,
  { secrets: asked = [], env }: { readonly secrets?: readonly AskedSecret[]; readonly env: Variables },
): Promise<GivenSecrets> {
  if (asked.length === 0) return { secrets: [], values: {} };
  refuseTwice(asked, env);
  const given = await openAsked(context, caller, asked);
  checkEnv({ ...env, ...given.values });
  return given;
}

/** Throws `forbidden` or `secret_not_found`. */
export async function openAsked(
  context: Context,
  caller: Pick<Caller, "orgId" | "scopes">,
  asked: readonly AskedSecret[],
): Promise<GivenSecrets> {
  // What runs in the VM reads them, so its creation is a way to read.
  if (!caller.scopes.has("secrets:read"))
    throw new SkerryError("forbidden", '"secrets" needs the scope "secrets:read" as well.', {
      context: { field: "secrets" },
    });
  return openNamed(context, caller, asked);
}

/** The same for a caller who was allowed to before. Throws `secret_not_found`. */
export async function openNamed(
  context: Context,
  tenant: Pick<Caller, "orgId">,
  asked: readonly AskedSecret[],
): Promise<GivenSecrets> {
  const secrets = asked.map(({ name, as = name }) => ({ name, as, version: null, given_at: null }));
  const given = await open(context, tenant, secrets);
  const missing = given.secrets.find(({ version }) => version === null);
  if (missing === undefined) return given;
  throw new SkerryError("secret_not_found", `There is no secret ${missing.name}.`, {
    context: { field: "secrets", name: missing.name },
  });
}

function refuseTwice(secrets: readonly AskedSecret[], env: Variables): void {
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
}

/** Values for a VM that starts again, each in the version of now; one that is deleted is not among them. */
export async function secretsAtStart(context: Context, row: StartingVm): Promise<Variables> {
  if (row.secrets === null || row.secrets.length === 0) return {};
  const { secrets, values } = await open(context, { orgId: row.org_id }, row.secrets);
  await sql`update vms set secrets = ${JSON.stringify(secrets)}::jsonb where id = ${row.id}`.execute(
    context.db,
  );
  checkEnv({ ...(row.env as Variables), ...values });
  return values;
}

async function open(
  context: Context,
  tenant: Pick<Caller, "orgId">,
  secrets: readonly ShownSecret[],
): Promise<GivenSecrets> {
  const names = secrets.map(({ name }) => name);
  const opened = await openSecrets(context, ofOrganization(tenant), names);
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

/** For the column of a row that is written. */
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
