// The end of a host's membership. From then on control asks it nothing and believes it nothing; its certificate opens no door, because other
// hosts take from a host only what control has announced to them.

import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import { lockLeavingHost, markRemoved, setOffline, type LeavingHost } from "./removed-host-store.ts";
import type { Context } from "../context.ts";
import { failLostVms } from "./fail-lost-vms.ts";

const SERVICE = "host-removal";
/** `force`: also with VMs on it, and with templates that no other host has. Machines start anew elsewhere, by their policy; their disks are lost. */
export async function removeHost(
  context: Context,
  id: string,
  { force }: { readonly force: boolean },
): Promise<void> {
  const { address, losses } = await context.db.transaction().execute(async (transaction) => {
    const host = isId("host", id) ? await lockLeavingHost(transaction, id) : undefined;
    if (host === undefined) throw new SkerryError("host_not_found", "There is no such host.");
    if (!host.joined) throw isBesideControl();
    if (host.vms + host.templates > 0 && !force) throw notEmpty(host);
    await setOffline(transaction, id);
    const { losses: lost } = await failLostVms(context, transaction, SERVICE);
    await markRemoved(transaction, id);
    for (const room of context.rooms) await room.onHostRemoved?.(transaction, id);
    return { address: host.address, losses: lost };
  });
  context.vmLocations.forgetHost(address);
  await context.hosts.forget(address);
  for (const { tell } of losses) tell?.(context);
  context.wake("host-health-monitor");
}

function isBesideControl(): SkerryError {
  return new SkerryError("host_not_removable", "The host is on the machine of the control plane.", {
    remediation: "It belongs to that installation and ends with it: `skerry down` there.",
  });
}

function notEmpty({ vms, templates }: Pick<LeavingHost, "vms" | "templates">): SkerryError {
  const has = [
    ...(vms > 0 ? [`${vms} sandboxes, machines and snapshots`] : []),
    ...(templates > 0 ? [`${templates} templates that no other host has`] : []),
  ];
  return new SkerryError("host_not_empty", `The host still has ${has.join(", and ")}.`, {
    remediation:
      "Drain it first, by which they go to other hosts, or remove it with `force=true` and lose them.",
    context: { vms, templates },
  });
}
