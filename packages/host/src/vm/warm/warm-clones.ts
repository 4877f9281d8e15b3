// A warm clone is a clone that is restored, warmed up and paused: it takes memory and no CPU. It has no
// identity, and its slot passes nothing. On disk it is a VM whose creation has not ended, so the next host
// process removes it like any other such VM, without code for the pool. Kernel, agent and templates are read
// when a host starts, so none outlives the template that it was made of.

import { randomBytes } from "node:crypto";
import { addAbortListener } from "node:events";
import { join } from "node:path";
import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import type { Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import { runCommand } from "../../guest/agent.ts";
import { runForgotten } from "../../guest/executions.ts";
import type { GuestChannel } from "../../guest/channel.ts";
import { NO_EGRESS } from "../../network/egress-loader.ts";
import { belowClone } from "../../templates/frozen.ts";
import type { TemplateLibrary } from "../../templates/library.ts";
import { distrusting, giveIdentity, restoreClone, resume, type LiveVm } from "../start/clone.ts";
import { releaseResources, makeFolder, type HostResources } from "../record/vm-resources.ts";
import { saveRecord, type VmRecord } from "../record/record.ts";

/** The prefix of the folder names of warm clones; no id of a VM begins with it. */
export const WARM_PREFIX = "warm_";
/** Emulated, a program's first start takes ten times as long as its second, and the guest's way to it
 *  still gets faster after that: with three instead of one, create and first command took 50 instead of 58
 *  ms, for 0.3 MiB of memory (medians of 12, in turns). */
const WARM_UP_ROUNDS = 3;
const WARM_UP_COMMAND = "true";
/** E2B's clients run each command by one. */
const LOGIN_SHELL = ["/bin/bash", "-l", "-c", "true"] as const;
/** The first command of E2B's clients writes small files below /run, by which programs find out where they run. Where the clone has written one before,
 *  create and first command took 65 instead of 74 ms (medians of 24, in turns). The file stays in the guest, and nothing reads it. */
const WARM_UP_FILE = { "skerry/warm": "1" } as const;

export interface WarmClonesOptions {
  readonly resources: HostResources;
  readonly library: TemplateLibrary;
  readonly vmsFolder: string;
  readonly instance: string;
  readonly log: Logger;
}

/** A warm clone that no VM has taken yet. */
export interface WarmVm {
  readonly record: VmRecord;
  readonly live: LiveVm;
}

export class WarmClones {
  readonly #options: WarmClonesOptions;

  constructor(options: WarmClonesOptions) {
    this.#options = options;
  }

  /** Resolves when the clone is paused; rejects after all its resources were released. */
  async make(template: string, size: Size, signal: AbortSignal): Promise<WarmVm> {
    const { resources, library, vmsFolder, instance } = this.#options;
    // The first use of a template takes long; a host that stops does not wait for it.
    const { frozen, boot } = await unlessAborted(library.frozen(template, size), signal);
    signal.throwIfAborted();
    const id = `${WARM_PREFIX}${randomBytes(8).toString("hex")}`;
    let record: VmRecord = {
      id,
      execution_id: "warm",
      template,
      size: size.name,
      status: "creating",
      reason: null,
      started_at: new Date().toISOString(),
      name: `${instance}:${id}:warm`,
      folder: join(vmsFolder, id),
      slot: resources.slots.take().number,
      process: undefined,
      egress: NO_EGRESS,
      egress_version: 1,
    };
    try {
      await makeFolder(record.folder);
      await saveRecord(record);
      const made = { resources, record, size, frozen, boot, isMachine: false, signal };
      const live = await distrusting(library, made, async () => {
        const restored = await restoreClone(made, async (started) => {
          const made_of = {
            below: belowClone(frozen),
            memory_of: "template",
            started_with: frozen.startedWith,
          } as const;
          record = { ...record, process: started.process, ...made_of };
          await saveRecord(record);
        });
        return resume(restored);
      });
      await warmUp(live, library.loginOf(template), resources.deadlines.cloneWarmUpMs);
      await live.qmp.execute("stop");
      return { record, live };
    } catch (error) {
      await releaseResources(resources, record);
      throw error;
    }
  }

  /** A clone that cannot be removed now is removed by the next host process. */
  async remove({ record, live }: WarmVm): Promise<void> {
    live.qmp.close();
    live.channel.close("the warm pool has removed this clone");
    await releaseResources(this.#options.resources, record).catch((error: unknown) => {
      // The next host process removes it: its record says that it was never finished.
      this.#options.log.error({ err: error, vm: record.id }, "a waiting clone could not be removed");
    });
  }
}

/** The listener goes with the wait: the signal lives as long as the host. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  using _listener = addAbortListener(signal, () => reject(signal.reason as Error));
  return await Promise.race([work, promise]);
}

async function warmUp(
  { qmp, channel }: LiveVm,
  login: string | undefined,
  deadlineMs: number,
): Promise<void> {
  try {
    await runWarmUp(channel, deadlineMs);
    for (let round = 0; login !== undefined && round < WARM_UP_ROUNDS; round += 1)
      await runForgotten(channel, {
        ...{ program: LOGIN_SHELL, user: login, run_files: WARM_UP_FILE },
        timeoutMs: deadlineMs,
      });
    await giveIdentity({ qmp, channel }, { hostname: "waiting", env: {} });
  } catch (error) {
    qmp.close();
    channel.close("its warm-up failed");
    throw error;
  }
}

/** A template that was built need not have a shell, or the user that it names: nothing of its is warmed up then. */
async function runWarmUp(channel: GuestChannel, deadlineMs: number): Promise<void> {
  try {
    for (let round = 0; round < WARM_UP_ROUNDS; round += 1)
      await runCommand(channel, WARM_UP_COMMAND, deadlineMs);
  } catch (error) {
    if (!(error instanceof SkerryError) || !CANNOT_RUN.has(error.code)) throw error;
  }
}

const CANNOT_RUN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "program_missing",
  "vm_user_not_found",
  "workdir_not_found",
  "permission_denied",
]);
