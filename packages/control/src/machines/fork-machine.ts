// Forks of machines, made by `snapshots/fork-vm.ts`. Each has a disk, a name for the network and a life of
// its own, by the restart policy of the source; its main process goes on from memory. A machine that has
// failed can be started, and a fork that never ran must not be: where a fork fails, its rows go to
// `destroying`.

import { SkerryError } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";
import type { Machine, MachineForks } from "@skerry/contract/machines/machine";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Creation } from "../idempotency/create-once.ts";
import { vmFork, type ForkedKind, type ForkParams } from "../snapshots/fork-vm.ts";
import { wholeEnv } from "../vms/env.ts";
import { finishDestroyingMachine } from "./destroy-machine.ts";
import { bringCheck } from "./machine-checks.ts";
import { abandonMachineForks, findMachineForks } from "./machine-fork-store.ts";
import { begun, insertMachine, transitionMachine, type MachineRow } from "./machine-store.ts";
import { getRunningMachine, machineOf, machineVms } from "./machines.ts";

export function machineFork(
  context: Context,
  caller: Caller,
  { id, count }: ForkParams,
): Creation<MachineForks> {
  const running = () => getRunningMachine(context, caller, id);
  return vmFork(context, caller, forkedMachines, { id, count, running });
}

const forkedMachines: ForkedKind<MachineRow, Machine> = {
  kind: machineVms,
  quotas: ({ disk_gib }) => ({ machines: 1, disk_gib }),
  /** Its restarts, retries and last exit code are its own. */
  insert: (transaction, source, snapshot) => {
    const { org_id, template, size, vcpus, memory_mib, disk_gib, host_id, metadata, egress } = source;
    const { health_check, stop_after_idle_ms, autostart, stop_timeout_ms, snapshot_id } = source;
    const { command, restart_policy, restart_max_retries, restart_disk } = source;
    return insertMachine(transaction, {
      ...{ org_id, template, size, vcpus, memory_mib, disk_gib, host_id, metadata, egress },
      ...{ health_check, stop_after_idle_ms, autostart, stop_timeout_ms, snapshot_id },
      ...{ command, restart_policy, restart_max_retries, restart_disk },
      env: wholeEnv(source.env),
      secrets: source.secrets,
      id: newId("machine"),
      name: null,
      unique_name: null,
      execution_id: newId("incarnation"),
      forked_by: snapshot.id,
    });
  },
  specOf: ({ command }) => ({ machine: { command, disk: "new" } }),
  run: (transaction, fork) =>
    transitionMachine(transaction, fork, "running", { ...begun, egress_applied: fork.egress_version }),
  destroyed: ({ id }) =>
    new SkerryError("machine_destroyed", "A fork was destroyed while it was being made.", {
      context: { machine_id: id },
    }),
  hasRun: bringCheck,
  undo: async (context, { snapshot }, { reason }) => {
    const abandoned = await abandonMachineForks(context.db, snapshot.id, reason);
    return Promise.allSettled(abandoned.map((fork) => finishDestroyingMachine(context, fork)));
  },
  find: findMachineForks,
  show: machineOf,
};
