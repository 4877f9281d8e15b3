// Seals what the database must not tell to those who read it, such as passwords of registries. The keys above it are in a file that only control's user
// reads. It is read at each use: uses are rare, and so a key that was changed counts at once, on every replica that has the file.

import { readFile } from "node:fs/promises";
import { SkerryError } from "@skerry/contract/errors";
import { parseRootKeys, ROOT_KEY_FILE_MAX_BYTES, type RootKey } from "@skerry/contract/sealing/root-key-file";
import type { Queries } from "../db/database.ts";
import {
  addDataKey,
  addFirstRootKey,
  destroyDataKey,
  findDataKey,
  rootKeyIds,
  type DataKeyRow,
} from "./data-key-store.ts";
import {
  derivedFrom,
  digestOf,
  newDataKey,
  openValue,
  sealValue,
  unwrapDataKey,
  wrapDataKey,
  type DataKey,
  type SealedFor,
} from "./sealed-value.ts";

/** As an organization has one, the cluster has a data key of its own. No organization has this id. */
export const CLUSTER = "cluster";

export class Sealing {
  readonly #file: string | undefined;

  /** `file`: undefined, where nothing can be sealed. */
  constructor(file: string | undefined) {
    this.#file = file;
  }

  /** Whether one is set; it may be missing all the same. */
  get hasFile(): boolean {
    return this.#file !== undefined;
  }

  /** Throws `secrets_unavailable`. `queries`: the transaction that stores it. */
  async seal(queries: Queries, about: SealedFor, value: string): Promise<Buffer> {
    const keys = await this.rootKeys();
    const found = await findDataKey(queries, about.owner);
    const row = found ?? (await makeDataKey(queries, about.owner, keys));
    return sealValue(unwrap(row, keys), about, Buffer.from(value));
  }

  /**
   * 8 bytes that are the same for the same value of an owner that has sealed something. Throws as `open`
   * does.
   */
  async digest(queries: Queries, owner: string, value: string): Promise<Buffer> {
    const row = await findDataKey(queries, owner);
    if (row === undefined) throw new Error(`${owner} has sealed nothing`);
    return digestOf(unwrap(row, await this.rootKeys()), Buffer.from(value));
  }

  /**
   * 32 bytes in hexadecimal that are the same for the same purpose of an owner that has sealed something, and
   * are kept nowhere. Throws as `open` does.
   */
  async derive(queries: Queries, owner: string, purpose: string): Promise<string> {
    const row = await findDataKey(queries, owner);
    if (row === undefined) throw new Error(`${owner} has sealed nothing`);
    return derivedFrom(unwrap(row, await this.rootKeys()), purpose).toString("hex");
  }

  /** Throws `secrets_unavailable`, or `secret_damaged` where it is not what was sealed for this. */
  async open(queries: Queries, about: SealedFor, sealed: Buffer): Promise<string> {
    return (await this.opener(queries, about.owner))(about, sealed);
  }

  /**
   * Opens what one owner has sealed. Throws `secrets_unavailable`, and what it resolves with throws
   * `secret_damaged`.
   */
  async opener(queries: Queries, owner: string): Promise<(about: SealedFor, sealed: Buffer) => string> {
    const [keys, row] = await Promise.all([this.rootKeys(), findDataKey(queries, owner)]);
    const dataKey = row && unwrap(row, keys);
    return (about, sealed) => {
      try {
        if (dataKey === undefined) throw new Error(`${owner} has sealed nothing`);
        return openValue(dataKey, about, sealed).toString();
      } catch (cause) {
        throw damaged(about, cause);
      }
    };
  }

  /** Of the file. Throws `secrets_unavailable`. */
  async rootKeys(): Promise<readonly RootKey[]> {
    if (this.#file === undefined) throw unavailable("No root key file is set.");
    try {
      const bytes = await readFile(this.#file);
      if (bytes.length > ROOT_KEY_FILE_MAX_BYTES) throw new Error("it is too long");
      return parseRootKeys(bytes.toString());
    } catch (cause) {
      throw unavailable("The root key file cannot be read.", cause);
    }
  }

  /** Why nothing can be opened; undefined where all is well. For the start of a process: it serves what needs no secret all the same. */
  async fault(queries: Queries): Promise<SkerryError | undefined> {
    try {
      const [id] = await rootKeyIds(queries);
      const keys = await this.rootKeys();
      if (id !== undefined) requireKey(keys, id);
      return undefined;
    } catch (error) {
      if (error instanceof SkerryError && error.code === "secrets_unavailable") return error;
      throw error;
    }
  }
}

/** What this owner has sealed can never be opened again but from a backup of before. */
export function forgetSecrets(queries: Queries, owner: string): Promise<void> {
  return destroyDataKey(queries, owner);
}

/** Throws where the file has not the root key that seals. */
async function makeDataKey(queries: Queries, owner: string, keys: readonly RootKey[]): Promise<DataKeyRow> {
  const [first] = keys;
  if (first !== undefined) await addFirstRootKey(queries, first.id);
  const [id = ""] = await rootKeyIds(queries);
  const root = requireKey(keys, id);
  await addDataKey(queries, { owner, root_key: root.id, wrapped: wrapDataKey(root, owner, newDataKey()) });
  const row = await findDataKey(queries, owner);
  if (row === undefined) throw new Error("a data key that was written is not there");
  return row;
}

/** Throws `secrets_unavailable` where the file does not have its root key, `secret_damaged` where that does not open it. */
export function unwrap({ owner, root_key, wrapped }: DataKeyRow, keys: readonly RootKey[]): DataKey {
  const root = requireKey(keys, root_key);
  try {
    return unwrapDataKey(root, owner, wrapped);
  } catch (cause) {
    throw new SkerryError("secret_damaged", "The key of this owner's secrets does not open.", { cause });
  }
}

export function requireKey(keys: readonly RootKey[], id: string): RootKey {
  const key = keys.find((one) => one.id === id);
  if (key !== undefined) return key;
  throw unavailable(`The root key file does not have the key ${id}, by which secrets were sealed.`);
}

function unavailable(message: string, cause?: unknown): SkerryError {
  return new SkerryError("secrets_unavailable", message, {
    remediation: "On the machine of the control plane, `skerry key check` says which key is missing.",
    cause,
  });
}

function damaged({ scope, name }: SealedFor, cause: unknown): SkerryError {
  return new SkerryError("secret_damaged", `The secret of the ${scope} "${name}" does not open.`, {
    remediation: "Set it again.",
    cause,
  });
}
