// Secrets of a microVM in what it prints: each line of its log and all output that is kept of it passes here.

import { sql } from "kysely";
import type { ShownSecret } from "@skerry/contract/vms/secrets";
import type { Context } from "../context.ts";
import type { Redactor } from "@skerry/contract/secrets/redactor";
import { redactorOf, scopesOfVm } from "../secrets/secrets.ts";

interface VmWithSecrets {
  readonly org_id: string;
  readonly owner_kind: string | null;
  readonly owner_id: string | null;
  readonly secrets: readonly ShownSecret[] | null;
}

const REDACTOR_FRESH_MS = 5_000;

export function redactorOfVm(context: Context, { secrets, ...row }: VmWithSecrets): Promise<Redactor> {
  const names = (secrets ?? []).map(({ name }) => name);
  return redactorOf(context, scopesOfVm(row), names);
}

/** The same of a VM whose row is not at hand. */
export async function redactorOfVmId(context: Context, id: string): Promise<Redactor> {
  const { rows } = await sql<VmWithSecrets>`
    select org_id, owner_kind, owner_id, secrets from vms where id = ${id}`.execute(context.db);
  return redactorOfVm(context, rows[0] ?? { org_id: "", owner_kind: null, owner_id: null, secrets: null });
}

/**
 * Redactor for a log that is followed: a secret may get another version meanwhile, and the machine a start
 * with it.
 */
export class NewestRedactor {
  readonly #context: Context;
  readonly #row: VmWithSecrets;
  #last: { readonly redactor: Redactor; readonly atMs: number } | undefined;

  constructor(context: Context, row: VmWithSecrets) {
    this.#context = context;
    this.#row = row;
  }

  async now(): Promise<Redactor> {
    const last = this.#last;
    const atMs = performance.now();
    if (last !== undefined && atMs - last.atMs < REDACTOR_FRESH_MS) return last.redactor;
    const redactor = await redactorOfVm(this.#context, this.#row).catch((error: unknown) => {
      if (last === undefined) throw error;
      return last.redactor;
    });
    this.#last = { redactor, atMs };
    return redactor;
  }
}
