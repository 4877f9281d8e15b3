// What the object store has of templates: which layers, and how a host gets one.

import { randomBytes } from "node:crypto";
import { FETCH_LAYER_WITHIN_MS } from "@skerry/contract/host-api/stored-layers";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { SealedFor } from "../sealing/sealed-value.ts";
import { noteDamage, readyLayers, setKey, type StoredLayerRow } from "./stored-layer-store.ts";

const KEY_BYTES = 32;
const DIGITS = 5;

/** Of an organization's template. */
export interface TemplateLayers {
  readonly template: string;
  readonly orgId: string;
  readonly digests: readonly string[];
}

/** Whether a host could get all of these without another one. */
export async function isStored(
  { db, objectStore }: Pick<Context, "db" | "objectStore">,
  { orgId, digests }: Pick<TemplateLayers, "orgId" | "digests">,
): Promise<boolean> {
  if (objectStore === undefined) return false;
  const wanted = new Set(digests);
  return (await readyLayers(db, orgId, [...wanted])).length === wanted.size;
}

/** Has a host get those of the layers that are stored. Throws `object_store_unavailable`, `stored_layer_damaged`, and what the host throws. */
export async function fetchStored(
  context: Context,
  { template, orgId, digests }: TemplateLayers,
  { target, stop }: { readonly target: HostClient; readonly stop: AbortSignal },
): Promise<void> {
  const { db, objectStore } = context;
  if (objectStore === undefined) return;
  for (const row of await readyLayers(db, orgId, digests)) {
    const key = await openKey(context, row);
    const names = Array.from({ length: row.pieces }, (_, index) => objectName(row, index));
    const urls = await objectStore.sign("GET", names, FETCH_LAYER_WITHIN_MS / 1_000);
    try {
      const { id: object, digest } = row;
      await target.templates.fetch({ template, digest, object, key, urls }, stop);
    } catch (error) {
      if (isOfStore(error)) context.metrics.storeFailures.add(1, "fetch");
      if (error instanceof SkerryError && error.code === "stored_layer_damaged") {
        await noteDamage(db, row.id, error.message);
        context.wake("layer-storer");
      }
      throw error;
    }
  }
}

function isOfStore(error: unknown): boolean {
  return (
    error instanceof SkerryError &&
    (error.code === "object_store_unavailable" || error.code === "stored_layer_damaged")
  );
}

/** Under which the store has a piece. It tells neither what it is nor whose. */
export function objectName({ id }: Pick<StoredLayerRow, "id">, index: number): string {
  return `layers/${id}/${String(index).padStart(DIGITS, "0")}`;
}

/** In hexadecimal digits; a new one where it has none. Throws `secrets_unavailable`. */
export async function openKey({ db, sealing }: Context, row: StoredLayerRow): Promise<string> {
  const about = sealedFor(row);
  if (row.sealed_key !== null) return sealing.open(db, about, row.sealed_key);
  const key = randomBytes(KEY_BYTES).toString("hex");
  await db.transaction().execute(async (transaction) => {
    await setKey(transaction, row.id, await sealing.seal(transaction, about, key));
  });
  return key;
}

function sealedFor({ org_id, id }: StoredLayerRow): SealedFor {
  return { owner: org_id, scope: "stored-layer", name: id, version: 1 };
}
