// The part of the host API by which layers get into an object store, and out of it. The store is of the S3 kind, and learns nothing: a layer goes there
// as a row of objects, each a piece of `layerStream`, sealed by a key of this layer alone. Control has the credentials of the store and the keys. A host
// gets, for one layer and one direction, URLs that are good for a while, and the key.
//
//   POST /layers/store   StoreLayer   StoredPieces; it has put there as many pieces as it got URLs, or all that there are. Twice is once
//   POST /layers/fetch   FetchLayer   204; the template has the layer. Throws `stored_layer_damaged` where the store has not what was put there,
//                                     `object_store_unavailable` where the store does not answer. It ends with the call

import { Type, type Static } from "typebox";
import { idPattern } from "../ids.ts";

const closed = { additionalProperties: false } as const;

/** Of the stream, in each object but the last; a host has some of these in memory for each layer on its way. */
export const PIECE_BYTES = 8 * 1024 ** 2;
/** URLs in one call: 1 GiB of a layer. */
export const STORE_URLS_MAX = 128;
/** Pieces of the largest layer, 64 GiB without a hole, and of what stands between its blocks. */
const PIECES_MAX = 8_200;
/** How long a call may take, and its URLs are good. */
export const STORE_LAYER_WITHIN_MS = 30 * 60_000;
export const FETCH_LAYER_WITHIN_MS = 60 * 60_000;

const Digest = Type.String({ pattern: "^[0-9a-f]{64}$" });
/** Credentials that are good for a while have a token of up to 2 KiB in each URL. */
const Url = Type.String({ pattern: "^https?://", maxLength: 4_000 });

const SealedLayer = {
  digest: Digest,
  /** Authenticated with each piece, so that none opens as one of another layer. */
  object: Type.String({ pattern: "^[0-9a-f]{32}$" }),
  /** AES-256, in hexadecimal digits. */
  key: Type.String({ pattern: "^[0-9a-f]{64}$" }),
};

export const StoreLayer = Type.Object(
  {
    ...SealedLayer,
    /** Number of the piece that goes to the first URL. */
    first: Type.Integer({ minimum: 0, maximum: PIECES_MAX }),
    urls: Type.Array(Url, { minItems: 1, maxItems: STORE_URLS_MAX }),
  },
  closed,
);
export type StoreLayer = Static<typeof StoreLayer>;

export const StoredPieces = Type.Object(
  {
    /** That are there by now, with those before `first`: where there are more, as many as URLs were given. */
    pieces: Type.Integer({ minimum: 1, maximum: PIECES_MAX }),
    /** There are no more. */
    whole: Type.Boolean(),
  },
  closed,
);
export type StoredPieces = Static<typeof StoredPieces>;

export const FetchLayer = Type.Object(
  {
    ...SealedLayer,
    /** The template here that lacks it. */
    template: Type.String({ pattern: idPattern("template") }),
    urls: Type.Array(Url, { minItems: 1, maxItems: PIECES_MAX }),
  },
  closed,
);
export type FetchLayer = Static<typeof FetchLayer>;
