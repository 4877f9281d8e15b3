// `skerry take-over`: the hosts of a restored control plane obey it from now on.

import { controlCommand } from "../servers/control-command.ts";
import type { Layout } from "../system/layout.ts";
import { requireRoot } from "../system/require-root.ts";

export async function takeOver(layout: Layout): Promise<string> {
  requireRoot("take-over");
  const answer = await controlCommand(layout, ["take-over"], { failure: "take_over_failed" });
  // Control is of the same build.
  const { joined_hosts: hosts } = answer as { joined_hosts: number };
  if (hosts === 0)
    return "No host on another machine has joined this control plane: there is none to take over.";
  return `Within seconds the hosts on other machines (${hosts}) obey this control plane. They refuse every other copy of it from then on; stop the one that the backup was made of.`;
}
