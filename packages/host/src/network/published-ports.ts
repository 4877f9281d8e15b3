// Ports of a guest that the proxy in front of apps may connect to.

import { BASE_TABLE, PUBLISHED_SET } from "./base-rules.ts";
import { loadRules, type NetnsExec } from "./netns-exec.ts";

/** Opens these ports, and closes the others. Connections that there are go on. */
export async function publishPorts(slot: NetnsExec, ports: readonly number[]): Promise<void> {
  const set = `inet ${BASE_TABLE} ${PUBLISHED_SET}`;
  const added = ports.length === 0 ? "" : `add element ${set} { ${ports.join(", ")} }\n`;
  await loadRules(`flush set ${set}\n${added}`, slot);
}
