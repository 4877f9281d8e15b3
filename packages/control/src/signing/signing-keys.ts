// The keys of what is opened without a token of ours: signed URLs, and the access tokens, traffic tokens and upload links of E2B's clients. All
// replicas have the same ones. They are sealed under the root key, so a copy of the database alone signs nothing.
//
// The newest key signs, and the one before it is accepted until an operator retires it or makes another one (`signing-key-commands.ts`). A new key
// is accepted for 30 s before it signs, because a replica looks for changes every few seconds only. An opened key is kept in memory for as long as
// its row is there, so a request reads no file.

import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import { newId } from "@skerry/contract/ids";
import type { Database, Queries } from "../db/database.ts";
import type { SealedFor } from "../sealing/sealed-value.ts";
import { CLUSTER, type Sealing } from "../sealing/sealing.ts";
import {
  addFirstSigningKey,
  findSigningKeys,
  type NewSigningKey,
  type SigningKeyRow,
} from "./signing-key-store.ts";

/** Each has a key of its own, derived from the signing key: a code for one purpose is none for another. */
const purposes = ["signed url", "e2b access", "e2b traffic", "e2b upload"] as const;
export type SigningPurpose = (typeof purposes)[number];

const KEY_BYTES = 32;
/** A replica looks for changes after this, without having a request wait. */
const FRESH_MS = 5_000;
/** A request waits for that look if the last one is older than this. */
const BELIEVED_MS = 10_000;

interface OpenedKey {
  readonly id: string;
  readonly byPurpose: Readonly<Record<SigningPurpose, Buffer>>;
}

/** The keys of one moment. */
export class SigningKeySet {
  readonly #keys: readonly [OpenedKey, ...OpenedKey[]];

  /** The first one signs. */
  constructor(keys: readonly [OpenedKey, ...OpenedKey[]]) {
    this.#keys = keys;
  }

  get ids(): string {
    return this.#keys.map(({ id }) => id).join();
  }

  /** 32 bytes. */
  sign(purpose: SigningPurpose, text: string): Buffer {
    return codeOf(this.#keys[0], purpose, text);
  }

  /** By each key that is accepted; the first is that of `sign`. */
  codes(purpose: SigningPurpose, text: string): Buffer[] {
    return this.#keys.map((key) => codeOf(key, purpose, text));
  }

  isSigned(purpose: SigningPurpose, text: string, code: Buffer): boolean {
    return this.codes(purpose, text).some(
      (right) => right.length === code.length && timingSafeEqual(right, code),
    );
  }
}

export class SigningKeys {
  readonly #db: Database;
  readonly #sealing: Sealing;
  #known: SigningKeySet | undefined;
  #opened: ReadonlyMap<string, OpenedKey> = new Map();
  #lookedAtMs = -Infinity;
  #look: Promise<SigningKeySet> | undefined;

  constructor(db: Database, sealing: Sealing) {
    this.#db = db;
    this.#sealing = sealing;
  }

  /** The same object until a key comes or goes. Throws `secrets_unavailable` or `secret_damaged`. */
  async keys(): Promise<SigningKeySet> {
    const ageMs = performance.now() - this.#lookedAtMs;
    const known = this.#known;
    if (known !== undefined && ageMs < FRESH_MS) return known;
    this.#look ??= this.#lookAgain().finally(() => (this.#look = undefined));
    if (known === undefined || ageMs >= BELIEVED_MS) return this.#look;
    // Where it fails, a later request waits for the next one, and is told why.
    this.#look.catch(() => undefined);
    return known;
  }

  async #lookAgain(): Promise<SigningKeySet> {
    const lookedAtMs = performance.now();
    const rows = await this.#rows();
    const opened = await Promise.all(
      rows.map(async (row) => this.#opened.get(row.id) ?? openSigningKey(this.#db, this.#sealing, row)),
    );
    const next = new SigningKeySet(signerFirst(rows, opened));
    this.#opened = new Map(opened.map((key) => [key.id, key]));
    if (this.#known?.ids !== next.ids) this.#known = next;
    this.#lookedAtMs = lookedAtMs;
    return this.#known ?? next;
  }

  async #rows(): Promise<readonly SigningKeyRow[]> {
    const found = await findSigningKeys(this.#db);
    if (found.length > 0) return found;
    await addFirstSigningKey(this.#db, await makeSigningKey(this.#db, this.#sealing));
    return findSigningKeys(this.#db);
  }
}

/** Index of the key that signs: the newest that all replicas accept. `rows`: the newest first. */
export function signerAt(rows: readonly Pick<SigningKeyRow, "known">[]): number {
  const newest = rows.findIndex(({ known }) => known);
  return newest < 0 ? rows.length - 1 : newest;
}

function signerFirst(
  rows: readonly SigningKeyRow[],
  opened: readonly OpenedKey[],
): readonly [OpenedKey, ...OpenedKey[]] {
  const at = signerAt(rows);
  const signer = opened[at];
  if (signer === undefined) throw new Error("a signing key that was written is not there");
  return [signer, ...opened.toSpliced(at, 1)];
}

/** Not written yet. Throws `secrets_unavailable` where it cannot be sealed. */
export async function makeSigningKey(queries: Queries, sealing: Sealing): Promise<NewSigningKey> {
  const id = newId("signingKey");
  const key = randomBytes(KEY_BYTES).toString("base64");
  return { id, sealed_key: await sealing.seal(queries, aboutKey(id), key) };
}

/** Throws `secrets_unavailable` or `secret_damaged`. */
export async function openSigningKey(
  queries: Queries,
  sealing: Sealing,
  { id, sealed_key }: Pick<SigningKeyRow, "id" | "sealed_key">,
): Promise<OpenedKey> {
  const key = Buffer.from(await sealing.open(queries, aboutKey(id), sealed_key), "base64");
  const derive = (purpose: SigningPurpose) =>
    Buffer.from(hkdfSync("sha256", key, "", `skerry signing ${purpose}`, KEY_BYTES));
  const derived = purposes.map((purpose) => [purpose, derive(purpose)] as const);
  return { id, byPurpose: Object.fromEntries(derived) as Record<SigningPurpose, Buffer> };
}

function aboutKey(id: string): SealedFor {
  return { owner: CLUSTER, scope: "signing-key", name: id, version: 1 };
}

function codeOf({ byPurpose }: OpenedKey, purpose: SigningPurpose, text: string): Buffer {
  return createHmac("sha256", byPurpose[purpose]).update(text).digest();
}
