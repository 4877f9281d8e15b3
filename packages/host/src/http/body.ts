// Writes response bodies piece by piece.

import type { ServerResponse } from "node:http";

/** Writes a piece and waits until the peer takes more. False when the peer has gone away. */
export async function writeBodyPiece(response: ServerResponse, piece: Buffer): Promise<boolean> {
  if (response.destroyed) return false;
  if (response.write(piece)) return true;
  await new Promise<void>((resolve) => {
    const goOn = () => {
      response.off("drain", goOn).off("close", goOn);
      resolve();
    };
    response.on("drain", goOn).on("close", goOn);
  });
  return !response.destroyed;
}
