// Waits for the end of a VM. Several sources report it, in any order; the most specific one decides.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { MainProcess } from "../../guest/agent.ts";
import type { LiveVm } from "../start/clone.ts";
import { consoleLogEnd } from "../qemu/console-log.ts";
import {
  endOfChannel,
  endOfGivenUp,
  endOfHungQemu,
  endOfMain,
  endOfQemu,
  type EndReason,
} from "./end-reason.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import { HUNG_AFTER_MS } from "../qemu/qmp.ts";
import type { VmRecord } from "../record/record.ts";

/** The two connections of a VM. */
export interface VmConnections {
  readonly qmp: Pick<LiveVm["qmp"], "closed" | "givenUp" | "shutdownReason">;
  readonly channel: Pick<LiveVm["channel"], "closed">;
}

/** Resolves when the VM or its main process has ended. `hungAfterMs`: as long a QEMU that ends may take for it. */
export function waitForEnd(
  record: VmRecord,
  { qmp, channel }: VmConnections,
  main: MainProcess | undefined,
  hungAfterMs = HUNG_AFTER_MS,
): Promise<EndReason> {
  const qemu = qmp.closed.then(async () => endOfQemu(qmp.shutdownReason, await lastWords(record)));
  const agent = channel.closed.then(async (closed) => {
    if (!closed.hungUp) return endOfChannel(closed.message);
    // No guest can hang up; a QEMU does that ends. It closes both connections, in either order, and between
    // them it may write for long to a slow disk. Only when both are closed has it said all of its reason.
    const hung = sleep(hungAfterMs, "hung", { ref: false });
    return (await Promise.race([qmp.closed, hung])) === "hung" ? endOfHungQemu(qmp.shutdownReason) : qemu;
  });
  const kvm = qmp.givenUp.then(() => endOfGivenUp);
  return Promise.race([qemu, agent, kvm, ...(main === undefined ? [] : [endOfProcess(main)])]);
}

/** Never resolves where the guest ended first: another source reports that. */
function endOfProcess({ exit }: MainProcess): Promise<EndReason> {
  return exit.then(endOfMain, () => Promise.withResolvers<never>().promise);
}

function lastWords(record: VmRecord): Promise<string | undefined> {
  if (record.machine === undefined) return Promise.resolve(undefined);
  return consoleLogEnd(join(record.folder, vmPaths.console));
}
