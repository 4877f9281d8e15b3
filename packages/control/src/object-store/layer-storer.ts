// Keeps the object store as templates need it: what they stand on is put there by hosts that have it, and what none stands on any more is
// deleted. Nothing is deleted but what a row names.

import { PIECE_BYTES, STORE_LAYER_WITHIN_MS, STORE_URLS_MAX } from "@skerry/contract/host-api/stored-layers";
import { SkerryError } from "@skerry/contract/errors";
import { reportOf, type BackgroundService, type Report } from "../background/background-service.ts";
import type { Context } from "../context.ts";
import {
  beginDeletingLayers,
  beginStoring,
  finishStoring,
  layersToDelete,
  layersToStore,
  noteDeleted,
  noteUrls,
  postponeLayer,
  type LayerToStore,
  type StoredLayerRow,
} from "./stored-layer-store.ts";
import type { Bucket } from "./bucket.ts";
import { objectName, openKey } from "./stored-layers.ts";

const BEGUN_AT_ONCE = 100;
/** A layer may take an hour, and those behind it wait. */
const STORED_AT_ONCE = 4;
const DELETED_AT_ONCE = 16;
/** Objects after which the row says so. */
const DELETIONS = 32;

const nothing: Report = { examined: 0, changed: 0, failed: 0, more: false };

export function layerStorer(context: Context, everyMs: number): BackgroundService {
  return {
    name: "layer-storer",
    everyMs,
    async activate(stop) {
      const { db, objectStore } = context;
      if (objectStore === undefined) return nothing;
      await beginDeletingLayers(db);
      await beginStoring(db, BEGUN_AT_ONCE);
      const [deleting, storing] = await Promise.all([
        layersToDelete(db, DELETED_AT_ONCE),
        layersToStore(db, STORED_AT_ONCE),
      ]);
      const works = [
        ...storing.map((row) => orPostpone(context, row, store(context, objectStore, { row, stop }))),
        ...oneByOne(deleting, (row) => orPostpone(context, row, remove(context, objectStore, { row, stop }))),
      ];
      const results = await Promise.allSettled(works);
      const isFull = deleting.length === DELETED_AT_ONCE || storing.length === STORED_AT_ONCE;
      const more = isFull && results.some(({ status }) => status === "fulfilled");
      return reportOf(results, { examined: results.length, more });
    },
  };
}

/** Deletions need not be quick: no request waits for them. */
function oneByOne<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void>[] {
  let last: Promise<unknown> = Promise.resolve();
  return items.map((item) => {
    const done = last.then(() => work(item));
    last = done.catch(() => undefined);
    return done;
  });
}

async function orPostpone(
  { db, log, metrics }: Context,
  { id, digest, status }: StoredLayerRow,
  work: Promise<void>,
): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (error instanceof SkerryError) {
      log.warn({ err: error, digest }, "a layer is not as it should be in the object store");
      metrics.storeFailures.add(1, status === "deleting" ? "delete" : "store");
      await postponeLayer(db, id);
    }
    throw error;
  }
}

interface Work<Row> {
  readonly row: Row;
  readonly stop: AbortSignal;
}

/** From the first host that can. */
async function store(
  context: Context,
  objectStore: Bucket,
  { row, stop }: Work<LayerToStore>,
): Promise<void> {
  let last: unknown;
  for (const address of row.addresses) {
    try {
      return await storeFrom(context, objectStore, { row, address, stop });
    } catch (error) {
      // Another host would meet the same.
      if (stop.aborted || isOfStore(error)) throw error;
      last = error;
    }
  }
  throw last;
}

function isOfStore(error: unknown): boolean {
  return !(error instanceof SkerryError) || error.code === "object_store_unavailable";
}

/** It is ready with its last piece and not before. */
async function storeFrom(
  context: Context,
  objectStore: Bucket,
  { row, address, stop }: Work<StoredLayerRow> & { readonly address: string },
): Promise<void> {
  const { db, hosts } = context;
  const key = await openKey(context, row);
  const seconds = STORE_LAYER_WITHIN_MS / 1_000;
  for (let first = 0; ;) {
    const names = Array.from({ length: urlsFor(row) }, (_, index) => objectName(row, first + index));
    const urls = await objectStore.sign("PUT", names, seconds);
    const isWanted = await noteUrls(db, { id: row.id, urls: first + urls.length, seconds });
    if (!isWanted) return;
    const order = { object: row.id, digest: row.digest, key, first, urls };
    const { pieces, whole } = await hosts.client(address).templates.store(order, stop);
    const upto = first + urls.length;
    // What a host says decides how many objects are asked for from then on.
    if (pieces > upto || (whole ? pieces <= first : pieces !== upto))
      throw new SkerryError("host_unavailable", "The host does not say what it has put into the store.");
    if (whole) return finishStoring(db, row.id, pieces);
    first = pieces;
  }
}

/** Mostly all that it needs: blocks that are empty are not part of it, and what is between them is little. */
function urlsFor({ bytes }: StoredLayerRow): number {
  return Math.min(STORE_URLS_MAX, Math.ceil(Number(bytes) / PIECE_BYTES) + 2);
}

/** The last ones first, so that a row names what is left at any moment. */
async function remove(
  { db }: Context,
  objectStore: Bucket,
  { row, stop }: Work<StoredLayerRow>,
): Promise<void> {
  for (let left = row.urls; left > 0;) {
    const from = Math.max(0, left - DELETIONS);
    const names = Array.from({ length: left - from }, (_, index) => objectName(row, from + index));
    for (const name of names) await objectStore.delete(name, stop);
    left = from;
    await noteDeleted(db, row.id, left);
  }
  await noteDeleted(db, row.id, 0);
}
