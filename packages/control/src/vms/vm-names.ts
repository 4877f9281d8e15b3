// Names of sandboxes and machines. Among the living ones of an organization a name finds one sandbox, and one machine. The database holds
// that, for all replicas (`unique_name`). One that has failed and cannot be started again gives its name up, so that a creation that failed
// can be sent again; it never takes the name back. Rows older than this rule may share a name, and then answer by id only.

import { sql } from "kysely";
import { idKinds, kindOf } from "@skerry/contract/ids";
import { NAME_MAX_CHARS } from "@skerry/contract/bounds";
import { SkerryError } from "@skerry/contract/errors";
import type { Database, Tables } from "../db/database.ts";
import { prepared } from "../db/prepared.ts";
import { checkName } from "../values/check-text.ts";
import { quoted } from "../values/quoted.ts";
import type { VmKind } from "./vm-kind.ts";

type Kind = Pick<VmKind, "noun" | "table">;

/** Undefined where the organization has none of this name that lives. */
export async function findVmId(
  db: Database,
  { noun }: Pick<VmKind, "noun">,
  orgId: string,
  name: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from vms
    where org_id = ${orgId} and kind = ${noun} and unique_name = ${name} and status <> 'destroyed' ${prepared}`.execute(
    db,
  );
  return rows[0]?.id;
}

const ID_PREFIXES = [`${idKinds.sandbox}_`, `${idKinds.machine}_`];

/** A name for a new one. Throws `bad_request` where a path could not tell it from an id, or a client would take it for a step in the path. */
export function checkVmName(name: string): string {
  checkName("name", name);
  const prefix = ID_PREFIXES.find((start) => name.startsWith(start));
  if (prefix !== undefined) throw badName(`"name" begins with "${prefix}", as ids do.`);
  if (name === "." || name === "..") throw badName(`"name" cannot be "${name}": it means a step in a path.`);
  return name;
}

function badName(message: string): SkerryError {
  return new SkerryError("bad_request", message, {
    remediation: "Choose another name.",
    context: { field: "name" },
  });
}

/** Whether one could have this name; what could not is not looked for. */
export function isVmName(text: string): boolean {
  return (
    text !== "" &&
    // One character may be two of JavaScript's.
    text.length <= 2 * NAME_MAX_CHARS &&
    !text.includes("\0") &&
    text.isWellFormed() &&
    !ID_PREFIXES.some((start) => text.startsWith(start))
  );
}

/** `asked` is an id or a name. Says no more than that the caller has none: what another organization has is not told. */
export function vmNotFound({ noun, table }: Kind, asked: string): SkerryError {
  const code = `${noun}_not_found` as const;
  const other = kindOf(asked);
  if (other !== noun && (other === "sandbox" || other === "machine")) {
    return new SkerryError(
      code,
      `${quoted(asked)} begins as ids of a ${other} do, and this call is about a ${noun}.`,
      {
        remediation: other === "machine" ? "Use the call for machines." : "Use the call for sandboxes.",
      },
    );
  }
  return new SkerryError(code, `There is no ${noun} ${quoted(asked)}.`, {
    remediation: `\`GET /v1/${table}\` lists those of the organization. ${byIdOnly[noun]} only.`,
  });
}

const byIdOnly = {
  sandbox: "One that has failed or was destroyed answers by its id",
  machine: "One that never ran or was destroyed answers by its id",
} as const;

const UNIQUE_VIOLATION = "23505";

/** For a statement that gives a row its name: throws `name_taken` where another one has it. */
export function refuseTakenName(
  { noun, table }: { readonly noun: string; readonly table: keyof Tables },
  name: string | null,
): (error: unknown) => never {
  return (error) => {
    const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown };
    if (name === null || code !== UNIQUE_VIOLATION || constraint !== `${table}_unique_name`) throw error;
    throw new SkerryError("name_taken", `Another ${noun} of the organization has the name ${quoted(name)}.`, {
      remediation: `Choose another name, or destroy the ${noun} that has it: paths take its name.`,
      context: { field: "name", value: name },
      cause: error,
    });
  };
}
