// Pauses persistent sandboxes, and stops machines, that nothing has used for as long as they say. Their hosts
// know that, because every call into a guest passes them.

import { reportOf, type BackgroundService } from "../background/background-service.ts";
import type { Context } from "../context.ts";
import { idleMachines } from "../machines/stop-idle-machine.ts";
import { idleSandboxes } from "../sandboxes/pause-idle-sandbox.ts";
import type { Idler } from "../vms/idler.ts";

const SERVICE = "idle-pauser";
/** A host writes the memory of each sandbox to its disk. */
const AT_ONCE = 4;

export function idlePauser(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate(stop) {
      const how = { service: SERVICE, stop };
      const rows = [...(await idleSandboxes(context, how)), ...(await idleMachines(context, how))];
      const byAddress = Map.groupBy(rows, ({ address }) => address);
      const looks = await Promise.allSettled(
        [...byAddress].map(([address, ofHost]) => idleOf(context, { address, rows: ofHost }, stop)),
      );
      const idle = looks.flatMap((look) => (look.status === "fulfilled" ? look.value : []));
      // Settled, not all: no host call may outlive the activation that made it.
      const ends = await Promise.allSettled(idle.slice(0, AT_ONCE).map((row) => row.end()));
      const failedLooks = looks.filter(({ status }) => status === "rejected").length;
      const report = reportOf(ends, { examined: rows.length, more: idle.length > AT_ONCE });
      return { ...report, failed: report.failed + failedLooks };
    },
  };
}

interface OnHost {
  readonly address: string;
  readonly rows: readonly Idler[];
}

async function idleOf({ hosts }: Context, { address, rows }: OnHost, stop: AbortSignal): Promise<Idler[]> {
  const unused = await hosts.client(address).snapshots.unused(stop);
  const unusedMs = new Map(unused.map((vm) => [`${vm.id} ${vm.execution_id}`, vm.unused_ms]));
  return rows.filter(
    ({ id, execution_id, idleMs }) => (unusedMs.get(`${id} ${execution_id}`) ?? 0) >= idleMs,
  );
}
