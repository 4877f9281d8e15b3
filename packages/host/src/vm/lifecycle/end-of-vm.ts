// Waits for the end of a VM. Several sources report it, in any order; the most specific one decides.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { MainProcess } from "../../guest/agent.ts";
import type { LiveVm } from "../start/clone.ts";
import { consoleLogEnd } from "../qemu/console-log.ts";
import { endOfChannel, endOfMain, endOfQemu, type VmEnd } from "./vm-end.ts";
import { vmPaths } from "../qemu/qemu.ts";
import type { VmRecord } from "../record.ts";

/** Longest time between the ends of the two connections of a QEMU that ends. */
const LAST_WORD_MS = 1_000;

/** Resolves when the VM or its main process has ended. */
export function endOfVm(record: VmRecord, live: LiveVm, main: MainProcess | undefined): Promise<VmEnd> {
  const { qmp, channel } = live;
  const qemu = qmp.closed.then(async () => endOfQemu(qmp.shutdownReason, await lastWords(record)));
  const agent = channel.closed.then(async (closed) => {
    // A QEMU that ends closes both connections, in either order; the reason that QEMU gave is the more
    // specific one.
    const late = sleep(LAST_WORD_MS, "late", { ref: false });
    const heard = closed.hungUp ? await Promise.race([qmp.closed, late]) : "late";
    return heard === "late" ? endOfChannel(closed.message) : qemu;
  });
  return Promise.race([qemu, agent, ...(main === undefined ? [] : [endOfProcess(main)])]);
}

/** Never resolves where the guest ended first: another source reports that. */
function endOfProcess({ exit }: MainProcess): Promise<VmEnd> {
  return exit.then(endOfMain, () => Promise.withResolvers<never>().promise);
}

function lastWords(record: VmRecord): Promise<string | undefined> {
  if (record.machine === undefined) return Promise.resolve(undefined);
  return consoleLogEnd(join(record.folder, vmPaths.console));
}
