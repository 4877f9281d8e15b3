// What an operator does about root keys, on the machine of the control plane alone. The file is the command line's affair, which is root; this is
// what the database has to do with it.

import { SkerryError } from "@skerry/contract/errors";
import type { Database } from "../db/database.ts";
import { addRootKey, allDataKeys, removeRootKey, replaceDataKey, rootKeyIds } from "./data-key-store.ts";
import { wrapDataKey } from "./sealed-value.ts";
import { requireKey, unwrap, type Sealing } from "./sealing.ts";

export interface RootKeyReport {
  readonly keys: readonly {
    readonly id: string;
    readonly in_file: boolean;
    /** New secrets are sealed under it. */
    readonly seals: boolean;
    /** Keys of owners that only it opens. */
    readonly data_keys: number;
  }[];
  /** Owners whose key does not open although its root key is there. */
  readonly damaged: readonly string[];
}

/** Opens every data key. Throws `secrets_unavailable` where there is no file of keys. */
export async function checkRootKeys(db: Database, sealing: Sealing): Promise<RootKeyReport> {
  const inFile = await sealing.rootKeys();
  const known = await rootKeyIds(db);
  const rows = await allDataKeys(db);
  const ids = [...new Set([...known, ...inFile.map(({ id }) => id)])];
  const damaged = rows.filter((row) => {
    try {
      unwrap(row, inFile);
      return false;
    } catch (error) {
      return error instanceof SkerryError && error.code === "secret_damaged";
    }
  });
  return {
    keys: ids.map((id) => ({
      id,
      in_file: inFile.some((key) => key.id === id),
      seals: id === known[0],
      data_keys: rows.filter(({ root_key }) => root_key === id).length,
    })),
    damaged: damaged.map(({ owner }) => owner),
  };
}

/** The key of this id, which is in the file, seals from now on, and all data keys are sealed by it. Says how many that were. */
export async function sealUnder(
  db: Database,
  sealing: Sealing,
  id: string,
): Promise<{ readonly id: string; readonly data_keys: number }> {
  const keys = await sealing.rootKeys();
  const root = requireKey(keys, id);
  return db.transaction().execute(async (transaction) => {
    await addRootKey(transaction, id);
    const rows = await allDataKeys(transaction, "locked");
    for (const row of rows) {
      const wrapped = wrapDataKey(root, row.owner, unwrap(row, keys));
      await replaceDataKey(transaction, { owner: row.owner, root_key: id, wrapped });
    }
    return { id, data_keys: rows.length };
  });
}

/** Those by which nothing is sealed any more are forgotten, but for the one that seals. Says which the file needs from now on. */
export async function retireRootKeys(
  db: Database,
): Promise<{ readonly retired: readonly string[]; readonly needed: readonly string[] }> {
  return db.transaction().execute(async (transaction) => {
    const before = await rootKeyIds(transaction);
    const retired: string[] = [];
    for (const id of before) if (await removeRootKey(transaction, id)) retired.push(id);
    return { retired, needed: await rootKeyIds(transaction) };
  });
}

/** Ids of those that the file needs; none where nothing was ever sealed. */
export function neededRootKeys(db: Database): Promise<readonly string[]> {
  return rootKeyIds(db);
}
