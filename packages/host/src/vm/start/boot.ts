// Boots a machine from the disk that its previous VM left, or a paused sandbox whose memory is given up. The memory of a frozen template
// would not fit a disk that has changed since.

import { addAbortListener } from "node:events";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import type { Size } from "@skerry/contract/sizes";
import { GuestChannel } from "../../guest/channel.ts";
import type { BootParts } from "../../templates/library.ts";
import { giveIdentity, type Identity, type LiveVm } from "./clone.ts";
import { firstAnswer } from "../../guest/first-answer.ts";
import { startQemu, type HostResources, type StartedQemu } from "../record/vm-resources.ts";
import { emptyMemory } from "../qemu/empty-memory.ts";
import { killProcess } from "../qemu/process.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import type { Qmp } from "../qemu/qmp.ts";
import { diskFiles, type BackingFiles } from "../disk/backing-files.ts";
import type { VmRecord } from "../record/record.ts";

export interface BootOptions {
  readonly resources: HostResources;
  readonly parts: BootParts;
  readonly record: VmRecord;
  readonly identity: Identity;
  readonly size: Size;
  readonly signal: AbortSignal;
}

const GIB = 1024 ** 3;

/** `meanwhile` is called as soon as the process is known, and the guest does not run before it has ended.
 *  On failure the caller releases the resources. */
export async function bootKept(
  options: BootOptions,
  meanwhile: (started: StartedQemu) => Promise<void>,
): Promise<LiveVm> {
  const { record, signal } = options;
  for (const socket of [vmPaths.qmp, vmPaths.agent]) await rm(join(record.folder, socket), { force: true });
  const started = await startBooting(options);
  using _listener = addAbortListener(signal, () => void killProcess(started.process).catch(() => undefined));
  const { qmp } = started;
  try {
    await meanwhile(started);
    signal.throwIfAborted();
    await qmp.execute("cont");
    const channel = await answered(options, qmp);
    const live = { qmp, channel };
    await giveIdentity(live, options.identity);
    return live;
  } catch (error) {
    qmp.close();
    throw error;
  }
}

/** Changes that the owner made on the disk may keep the machine from booting. */
async function answered({ resources, record }: BootOptions, qmp: Qmp): Promise<GuestChannel> {
  const deadlineMs = resources.deadlines.bootMs;
  try {
    const agent = join(record.folder, vmPaths.agent);
    return await firstAnswer(qmp, GuestChannel.connect(agent, { resync: false, deadlineMs }));
  } catch (error) {
    throw new SkerryError("guest_failed", "The VM did not boot from its disk.", {
      remediation: "The end of its console log says why.",
      cause: error,
    });
  }
}

async function startBooting({ resources, parts, record, size }: BootOptions): Promise<StartedQemu> {
  const { below } = record;
  if (below === undefined) throw new Error("the record does not say what the VM's disk stands on");
  const { machine, boot } = parts;
  return startQemu(resources, {
    record,
    size,
    machine,
    files: {
      kernel: boot.kernel,
      initramfs: boot.initramfs,
      memory: await emptyMemory(resources.emptyMemoryFolder, size.memory_mib),
      ...diskFiles(below),
    },
    diskGib: await diskGibOf(below),
    purpose: "boot",
    isMachine: record.machine !== undefined,
    state: undefined,
  });
}

/** A built-in template's image is as large as the disk above it. */
export async function diskGibOf({ root_image, disk_gib }: BackingFiles): Promise<number> {
  if (disk_gib !== undefined) return disk_gib;
  const { size } = await stat(root_image).catch((error: unknown) => {
    throw new SkerryError("internal", "The template that the VM's disk stands on is gone.", {
      cause: error,
    });
  });
  return Math.max(1, Math.ceil(size / GIB));
}
