// What an operator does about signing keys, on the machine of the control plane alone.

import { SkerryError } from "@skerry/contract/errors";
import type { Database } from "../db/database.ts";
import type { Sealing } from "../sealing/sealing.ts";
import {
  addSigningKey,
  findSigningKeys,
  KNOWN_EVERYWHERE_S,
  lockSigningKeys,
  removeOldSigningKeys,
  type SigningKeyRow,
} from "./signing-key-store.ts";
import { makeSigningKey, openSigningKey, signerAt } from "./signing-keys.ts";

/** The one that signs, and the one before it or after it. */
const ACCEPTED_MAX = 2;

export interface SigningKeyReport {
  readonly id: string;
  readonly created_at: string;
  readonly signs: boolean;
  /** Unless its root key is missing, or it is damaged. */
  readonly opens: boolean;
}

/** Opens each of them. The newest one first. */
export async function checkSigningKeys(db: Database, sealing: Sealing): Promise<SigningKeyReport[]> {
  const rows = await findSigningKeys(db);
  const signer = signerAt(rows);
  return Promise.all(
    rows.map(async (row, index) => ({
      id: row.id,
      created_at: row.created_at.toISOString(),
      signs: index === signer,
      opens: await doesOpen(db, sealing, row),
    })),
  );
}

async function doesOpen(db: Database, sealing: Sealing, row: SigningKeyRow): Promise<boolean> {
  try {
    await openSigningKey(db, sealing, row);
    return true;
  } catch (error) {
    if (error instanceof SkerryError) return false;
    throw error;
  }
}

export interface SigningKeyRotation {
  readonly id: string;
  readonly signs_in_s: number;
  /** What these have signed is valid until they are retired. */
  readonly accepted: readonly string[];
  /** What these have signed is valid no more. */
  readonly retired: readonly string[];
}

/** Makes a key that signs once every replica knows it. The one before stays accepted; those before that one are retired. */
export async function rotateSigningKey(db: Database, sealing: Sealing): Promise<SigningKeyRotation> {
  return db.transaction().execute(async (transaction) => {
    await lockSigningKeys(transaction);
    const made = await makeSigningKey(transaction, sealing);
    await addSigningKey(transaction, made);
    const retired = await removeOldSigningKeys(transaction, ACCEPTED_MAX);
    const [, ...others] = await findSigningKeys(transaction);
    return {
      id: made.id,
      signs_in_s: others.length === 0 ? 0 : KNOWN_EVERYWHERE_S,
      accepted: others.map(({ id }) => id),
      retired,
    };
  });
}

/** All but the newest one. What they have signed ends on each replica when that looks for changes next. */
export async function retireSigningKeys(db: Database): Promise<{ readonly retired: readonly string[] }> {
  return db.transaction().execute(async (transaction) => {
    await lockSigningKeys(transaction);
    return { retired: await removeOldSigningKeys(transaction, 1) };
  });
}
