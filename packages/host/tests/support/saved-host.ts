// Hosts as far as saved guests go from one to the other: folders, and the API on a socket.

import { mkdir, rm, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { DEFAULT_SIZE, findSize } from "@skerry/contract/sizes";
import { pino } from "pino";
import type { Host } from "../../src/app/host.ts";
import { buildServer } from "../../src/http/server.ts";
import { Layers } from "../../src/vm/disk/layers.ts";
import { Peers } from "../../src/move/peers.ts";
import { SavedMoves, type SavedMovesOptions } from "../../src/move/saved-moves.ts";
import type { BackingFiles } from "../../src/vm/disk/backing-files.ts";
import { writeSaved } from "../../src/vm/saved/saved-guest.ts";
import { Snapshots } from "../../src/vm/saved/snapshots.ts";
import { pagesFile, PAGE_BYTES } from "./memory-pages.ts";
import { ownerOf } from "./records.ts";
import { EngineStub, noMoves } from "./stub-engine.ts";

export const MEMORY_BYTES = (findSize(DEFAULT_SIZE)?.memory_mib ?? 0) * 1024 ** 2;
export const here = {
  accelerator: "tcg",
  qemu_version: "7.2.0",
  cpu: "emulated",
  tsc_khz: 2_600_000,
} as const;
const log = pino({ level: "silent" });
const FIRST_UID = 1_790_000_000;

/** What a host has of saved guests, and its API on a socket. */
export class SavedHost implements AsyncDisposable {
  readonly folder: string;
  readonly address: string;
  snapshots!: Snapshots;
  moves!: SavedMoves;
  #server = createServer();

  readonly #dataRanges: string;

  private constructor(folder: string, dataRanges: string) {
    this.folder = folder;
    this.#dataRanges = dataRanges;
    this.address = `unix:${this.folder}.sock`;
  }

  static async start(folder: string, dataRanges: string): Promise<SavedHost> {
    const host = new SavedHost(folder, dataRanges);
    await mkdir(host.vms, { recursive: true });
    await host.restart();
    return host;
  }

  /** A host process after another one. */
  async restart(changes: Partial<SavedMovesOptions> = {}): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    const owner = ownerOf(this.vms);
    this.snapshots = await Snapshots.open({ folder: this.kept, places: owner.places, log });
    const engine = new EngineStub(FIRST_UID).engineIn(this.vms);
    await engine.adopt(noMoves);
    const library = { disks: async () => ({ root_image: [], frozen_disk: [] }) };
    const options = {
      ...{ engine, snapshots: this.snapshots, owner, vmsFolder: this.vms, library },
      resources: { emptyMemoryFolder: join(this.folder, "empty") },
      layers: new Layers(join(this.folder, "layers"), this.#dataRanges),
      peers: new Peers(() => undefined, { connectMs: 30_000, admitMs: 30_000, silentMs: 30_000 }),
      compatibility: async () => here,
      ...changes,
    };
    // More of a library is not asked for here.
    this.moves = new SavedMoves(options as unknown as SavedMovesOptions);
    // Nor more of a host than what the routes of moves use.
    const parts = { savedMoves: this.moves, engine, identity: { hostId: undefined } };
    const server = buildServer(parts as unknown as Host, log);
    await rm(`${this.folder}.sock`, { force: true });
    await server.listen({ path: `${this.folder}.sock` });
    this.#server = server.server;
  }

  get vms(): string {
    return join(this.folder, "vms");
  }

  get kept(): string {
    return join(this.folder, "snapshots");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** The files of a guest that has changed its second page and written to its disk. */
export async function writeGuest(
  host: SavedHost,
  vmId: string,
  { into, withDisk }: { readonly into: string; readonly withDisk: boolean },
): Promise<BackingFiles> {
  const { images, frozen } = ownerOf(host.vms).places;
  const below = {
    root_image: join(images, "base-1.ext4"),
    frozen_disk: join(frozen, "base-1", "disk.qcow2"),
  };
  await mkdir(images, { recursive: true });
  await mkdir(dirname(below.frozen_disk), { recursive: true });
  await writeFile(below.root_image, "what all disks stand on");
  await writeFile(below.frozen_disk, "what the template has written");
  const memory = join(dirname(below.frozen_disk), "memory");
  await writeFile(memory, Buffer.alloc(PAGE_BYTES, 1));
  await truncate(memory, MEMORY_BYTES);
  await mkdir(into, { recursive: true });
  const pages = pagesFile(MEMORY_BYTES, [{ memoryAt: PAGE_BYTES, bytes: Buffer.alloc(PAGE_BYTES, 2) }]);
  const files = { memory: pages, state: Buffer.from("its registers"), "disk.qcow2": Buffer.alloc(99_999, 3) };
  for (const [name, content] of Object.entries(files)) await writeFile(join(into, name), content);
  const sum = (content: Buffer) => ({ bytes: content.length, crc32: crc32(content) });
  await writeSaved(into, {
    ...{ format: 1, vm_id: vmId, template: "base", size: DEFAULT_SIZE, saved_at: new Date(0).toISOString() },
    ...{ memory_of: "template", below, runs_on: here },
    files: {
      memory: sum(files.memory),
      state: sum(files.state),
      ...(withDisk ? { disk: sum(files["disk.qcow2"]) } : {}),
    },
  });
  return below;
}
