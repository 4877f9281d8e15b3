// What a fake host does with the life of a VM when another one of it is to begin.

import { SkerryError } from "@skerry/contract/errors";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import type { FakeHost } from "./fake-host.ts";

/** Of what runs, only a later life of a sandbox, at a snapshot, takes the place. Of a machine that has stopped the disk goes as well. */
export async function takePlace(
  host: FakeHost,
  id: string,
  { execution_id, from, machine }: VmSpec,
): Promise<void> {
  const before = host.vms.get(id);
  if (before === undefined || before.execution_id === execution_id) return;
  const isAtSnapshot = from?.kind === "snapshot";
  const isLater = isAtSnapshot && machine === undefined && execution_id > before.execution_id;
  if (before.status === "running" && !(isLater && host.snapshots.replaces))
    throw new SkerryError("stale_execution", "another incarnation runs");
  if (!isAtSnapshot) return;
  host.vms.delete(id);
  host.disks.delete(id);
  await host.snapshots.betweenLives();
}
