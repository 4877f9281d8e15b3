// The hosts of the platform, in `skerry status`: this machine may be one of many.

import type { Status } from "@skerry/contract/platform/status";
import { countsText } from "../output/counts-text.ts";
import { askControl } from "./ask-control.ts";
import type { StatusRow } from "./status-row.ts";
import type { Layout } from "./system/layout.ts";

/** None where control does not tell, for example a user without a token. */
export async function hostsRows(layout: Layout): Promise<StatusRow[]> {
  const answer = await askControl(layout, "/v1/status");
  return answer === undefined ? [] : [hostsRow((JSON.parse(answer) as Status).hosts)];
}

export function hostsRow(hosts: Status["hosts"]): StatusRow {
  const { online, offline, draining, maintenance } = hosts;
  const isDrained = draining + maintenance > 0;
  const state = offline > 0 ? "offline" : isDrained ? "drained" : online > 0 ? "ok" : "none";
  const help = isDrained ? "; `skerry host activate HOST` lets one have VMs again" : "";
  return { what: "hosts", state, detail: `${countsText(hosts)}${help}` };
}
