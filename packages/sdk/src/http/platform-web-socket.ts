// The WebSocket of browsers, and of everything else that is not Node.

import { SkerryInputError } from "../errors/errors.ts";

export async function webSocketClass(): Promise<typeof WebSocket> {
  if (globalThis.WebSocket !== undefined) return globalThis.WebSocket;
  throw new SkerryInputError("This JavaScript engine has no WebSocket.", "Use Node, or a browser.");
}
