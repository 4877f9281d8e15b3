// A layer's stream in pieces, each sealed so that a store that is not trusted can keep it: AES-256-GCM under a key of this layer alone. Which piece of
// which layer it is, and whether it is the last one, is authenticated with it, so that pieces that were changed, exchanged, or left out do not
// open. Pure.
//
//   nonce, 12 bytes · piece, sealed · tag, 16 bytes

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** That a sealed piece is longer than what it holds. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES;

export interface PieceSeal {
  /** 32 bytes. */
  readonly key: Buffer;
  /** Of the layer, as the store knows it. */
  readonly object: string;
  readonly index: number;
  readonly isLast: boolean;
}

/** A new nonce each time: a piece that is stored again is sealed again. */
export function sealPiece(seal: PieceSeal, piece: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, seal.key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(aboutOf(seal));
  return Buffer.concat([nonce, cipher.update(piece), cipher.final(), cipher.getAuthTag()]);
}

/** Throws where it is not what was sealed as this piece of this layer. */
export function openPiece(seal: PieceSeal, sealed: Buffer): Buffer {
  if (sealed.length < SEAL_BYTES) throw new Error("a piece is cut off");
  const decipher = createDecipheriv(CIPHER, seal.key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(aboutOf(seal));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const opened = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
  decipher.final();
  return opened;
}

export interface Piece {
  readonly index: number;
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/** All but the last have this length. Of content that is empty there is one, which is empty. */
export async function* piecesOf(content: AsyncIterable<Buffer>, pieceBytes: number): AsyncGenerator<Piece> {
  let parts: Buffer[] = [];
  let length = 0;
  let index = 0;
  for await (const part of content) {
    parts.push(part);
    length += part.length;
    // Only what comes after it says that a piece is not the last one.
    while (length > pieceBytes) {
      const whole = Buffer.concat(parts);
      yield { index, bytes: whole.subarray(0, pieceBytes), isLast: false };
      parts = [whole.subarray(pieceBytes)];
      length -= pieceBytes;
      index += 1;
    }
  }
  yield { index, bytes: Buffer.concat(parts), isLast: true };
}

function aboutOf({ object, index, isLast }: PieceSeal): Buffer {
  return Buffer.from(JSON.stringify(["layer piece", object, index, isLast]));
}
