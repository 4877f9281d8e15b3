// The WebSocket of Node: the engine's own from Node 22 on, and before that the one of `ws`, which is loaded when it is needed first.

export async function webSocketClass(): Promise<typeof WebSocket> {
  if (globalThis.WebSocket !== undefined) return globalThis.WebSocket;
  const { WebSocket: own } = await import("ws");
  // It has all of the standard's that this client uses.
  return own as unknown as typeof WebSocket;
}
