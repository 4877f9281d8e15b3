// Forks of sandboxes, made by `snapshots/fork-vm.ts`. Where one fails, its rows become `failed`.

import { SkerryError } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";
import type { Sandbox, SandboxForks } from "@skerry/contract/sandboxes/sandbox";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Creation } from "../idempotency/create-once.ts";
import { vmFork, type ForkedKind, type ForkParams } from "../snapshots/fork-vm.ts";
import { readSize } from "../values/sizes.ts";
import { wholeEnv } from "../vms/env.ts";
import { findForks } from "./fork-store.ts";
import { resumeSandbox } from "./resume-sandbox.ts";
import { sandboxQuotas } from "./sandbox-quotas.ts";
import { insertSandbox, transitionSandbox, type SandboxRow } from "./sandbox-store.ts";
import { sandboxVms } from "./sandbox-vms.ts";
import { sandboxOf } from "./sandboxes.ts";

export function sandboxFork(
  context: Context,
  caller: Caller,
  { id, count }: ForkParams,
): Creation<SandboxForks> {
  const running = () => resumeSandbox(context, caller, { id, why: "for a fork" });
  return vmFork(context, caller, forkedSandboxes, { id, count, running });
}

const forkedSandboxes: ForkedKind<SandboxRow, Sandbox> = {
  kind: sandboxVms,
  quotas: ({ mode, disk_gib: diskGib, size }) => sandboxQuotas({ mode, diskGib, size: readSize(size) }),
  insert: (transaction, source, snapshot) => {
    const { org_id, template, mode, size, vcpus, memory_mib, disk_gib, host_id, timeout_ms } = source;
    const { metadata, egress, snapshot_id, pause_after_idle_ms, auto_resume } = source;
    return insertSandbox(transaction, {
      ...{ org_id, template, mode, size, vcpus, memory_mib, disk_gib, host_id, timeout_ms },
      ...{ metadata, egress, snapshot_id, pause_after_idle_ms, auto_resume },
      env: wholeEnv(source.env),
      secrets: source.secrets,
      id: newId("sandbox"),
      name: null,
      unique_name: null,
      execution_id: newId("incarnation"),
      forked_by: snapshot.id,
    });
  },
  specOf: () => ({}),
  run: (transaction, fork) =>
    transitionSandbox(transaction, fork, "running", { egressVersion: fork.egress_version }),
  destroyed: ({ id }) =>
    new SkerryError("sandbox_not_running", "A fork was destroyed while it was being made.", {
      context: { sandbox_id: id },
    }),
  hasRun: () => Promise.resolve(),
  undo: ({ db }, { forks }, { client, reason }) =>
    Promise.allSettled(
      forks.map(async (fork) => {
        await transitionSandbox(db, fork, "failed", { reason });
        await client.destroyVm(fork);
      }),
    ),
  find: findForks,
  show: sandboxOf,
};
