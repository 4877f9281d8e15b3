// Writes to a file that must outlast a loss of power, such as the only copy of a guest that arrives from another host.

import type { FileHandle } from "node:fs/promises";

/** So much is written before it is had on the disk, or a slow disk would keep the source waiting at the end. */
const SYNC_EVERY_BYTES = 64 * 1024 * 1024;

export class SyncedWriter {
  readonly #file: Pick<FileHandle, "write" | "datasync" | "sync">;
  #unsynced = 0;

  constructor(file: Pick<FileHandle, "write" | "datasync" | "sync">) {
    this.#file = file;
  }

  /** Resolves when all bytes are written from the offset `at` on. The kernel may take less of them at a time. */
  async write(bytes: Uint8Array, at: number): Promise<void> {
    for (let done = 0; done < bytes.length;)
      done += (await this.#file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
    this.#unsynced += bytes.length;
    if (this.#unsynced < SYNC_EVERY_BYTES) return;
    await this.#file.datasync();
    this.#unsynced = 0;
  }

  /** Resolves when content, length and mode of the file are on the disk. */
  async end(): Promise<void> {
    await this.#file.sync();
  }
}
