// The device state of a guest, without its memory: saved into a file when a template is frozen, a VM is paused or a snapshot is taken, and
// restored from it.

import { chown, rename, rm } from "node:fs/promises";
import { createWriteStream } from "node:fs";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { STATE_FD } from "./qemu-arguments.ts";
import { migrationCompleted, type Qmp } from "./qmp.ts";

/** The file in the folder of the QEMU that saved it. */
export const STATE_FILE = "state";

export interface SaveOptions {
  /** Of its QEMU. */
  readonly folder: string;
  readonly uid: number;
  /** Made whole or not at all. Default: `STATE_FILE` in that folder. */
  readonly file?: string;
  readonly deadlineMs: number;
}

/** Stops the guest and writes its device state. QEMU may not open files or start programs here, so it connects to a socket of ours. */
export async function saveState(qmp: Qmp, options: SaveOptions): Promise<void> {
  const { folder, uid, deadlineMs, file = join(folder, STATE_FILE) } = options;
  const signal = AbortSignal.timeout(deadlineMs);
  const socket = join(folder, "state.sock");
  const part = `${file}.part`;
  await qmp.execute("stop");
  await ignoreSharedMemory(qmp);
  await rm(socket, { force: true });
  const { server, saved } = await receiveInto(socket, part, signal);
  try {
    await chown(socket, uid, uid);
    await qmp.execute("migrate", { uri: `unix:state.sock` });
    await Promise.race([migrationCompleted(qmp, signal), failure(saved)]);
    await saved;
    await rename(part, file);
  } finally {
    server.close();
    await rm(socket, { force: true });
  }
}

/** Never resolves: what QEMU says of its side decides. */
async function failure(work: Promise<void>): Promise<never> {
  await work;
  return Promise.withResolvers<never>().promise;
}

/** Restores the state that launch.c has opened. The guest is paused where it was frozen. */
export async function restoreState(qmp: Qmp, deadlineMs: number): Promise<void> {
  await ignoreSharedMemory(qmp);
  await qmp.execute("migrate-incoming", { uri: `fd:${STATE_FD}` });
  await migrationCompleted(qmp, AbortSignal.timeout(deadlineMs));
}

async function ignoreSharedMemory(qmp: Qmp): Promise<void> {
  await qmp.execute("migrate-set-capabilities", {
    capabilities: [{ capability: "x-ignore-shared", state: true }],
  });
}

async function receiveInto(
  socket: string,
  file: string,
  signal: AbortSignal,
): Promise<{ server: Server; saved: Promise<void> }> {
  const { promise: saved, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer((connection) => {
    server.close();
    pipeline(connection, createWriteStream(file, { mode: 0o600 }), { signal }).then(resolve, reject);
  });
  saved.catch(() => undefined); // the caller that awaits it gets the error
  // Rejects where there is no room for the socket.
  await once(server.listen(socket), "listening");
  return { server, saved };
}
