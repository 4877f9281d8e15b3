// Boots a VM from its own disk: a fresh kernel knows nothing of the template, so the guest is told its defaults again and its start command runs anew.

import { startAgain } from "../../templates/start.ts";
import { bootKept } from "../start/boot.ts";
import type { LiveVm } from "../start/clone.ts";
import type { CreationOptions, VmRequest } from "./creation-request.ts";
import type { NewVm } from "./new-vm.ts";

/** `meanwhile` is called once `newVm.record` names the process, and the guest does not run before it has ended. */
export async function bootDisk(
  { resources, library, log }: CreationOptions,
  newVm: NewVm,
  { spec, size }: Pick<VmRequest, "spec" | "size">,
  { signal, meanwhile }: { readonly signal: AbortSignal; readonly meanwhile: () => Promise<void> },
): Promise<LiveVm> {
  const { record } = newVm;
  const parts = await library.forBoot(size);
  const identity = { ...spec, ...library.defaultsOf(spec.template) };
  const live = await bootKept({ resources, parts, record, identity, size, signal }, async ({ process }) => {
    newVm.record = { ...record, process, memory_of: "own", started_with: parts.startedWith };
    await meanwhile();
  });
  const start = library.startOf(spec.template);
  if (start === undefined) return live;
  try {
    await startAgain(live.channel, start, log.child({ vm: record.id }));
  } catch (error) {
    live.qmp.close();
    throw error;
  }
  return live;
}
