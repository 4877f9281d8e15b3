import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const CONNECT_RETRY_MS = 2;

/** Connects to a unix socket that QEMU is about to make. A QEMU that stands still is waited for as well: its queue of connections takes two,
 *  and may be full of those that host processes before this one have left. */
export async function dialSocket(path: string, signal: AbortSignal): Promise<Socket> {
  for (;;) {
    signal.throwIfAborted();
    const socket = await attempt(path);
    if (socket !== undefined) return socket;
    await sleep(CONNECT_RETRY_MS, undefined, { signal });
  }
}

const NOT_YET: ReadonlySet<string> = new Set(["ENOENT", "ECONNREFUSED", "EAGAIN"]);

function attempt(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.removeAllListeners("error");
      socket.on("error", () => undefined); // "close" follows and rejects all pending commands
      resolve(socket);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== undefined && NOT_YET.has(error.code)) resolve(undefined);
      else reject(error);
    });
  });
}
