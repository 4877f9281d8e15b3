// `skerry status`: what runs on this machine, and what the host says of itself.

import { request } from "node:http";
import type { HostInfo, VmList } from "@skerry/contract/host-api";
import type { Layout } from "./layout.ts";
import { isAlive, type ProcessIdentity } from "./processes.ts";
import { portHolder, type PortHolder } from "./port.ts";
import { readSupervisorState } from "./supervisor-state.ts";

export interface StatusRow {
  readonly what: string;
  readonly state: string;
  readonly detail: string;
}

const DEADLINE_MS = 3_000;

export async function status(layout: Layout): Promise<{ rows: StatusRow[]; running: boolean }> {
  const supervisor = await readSupervisorState(layout);
  const holder = await portHolder(layout);
  const [supervisorUp, controlUp, info, vms] = await Promise.all([
    supervisor === undefined ? false : isAlive(supervisor.supervisor),
    holder.state === "control" && isHealthy(layout),
    hostGet<HostInfo>(layout, "/info"),
    hostGet<VmList>(layout, "/vms"),
  ]);
  const rows = [
    row("supervisor", supervisorUp, pidText(supervisor?.supervisor)),
    controlRow(layout, holder, controlUp, supervisor?.services.control),
    ...(info === "denied"
      ? [row("host", true, "its socket is for root and control; run as root to see the host", "unknown")]
      : hostRows(info, vms, supervisor?.services.host)),
  ];
  return { rows, running: supervisorUp && controlUp && info !== "silent" };
}

async function isHealthy(layout: Layout): Promise<boolean> {
  return fetch(`${layout.apiUrl}/v1/health`, { signal: AbortSignal.timeout(DEADLINE_MS) }).then(
    (response) => response.ok,
    () => false,
  );
}

function controlRow(
  layout: Layout,
  holder: PortHolder,
  up: boolean,
  identity: ProcessIdentity | undefined,
): StatusRow {
  if (holder.state === "other")
    return { what: "control", state: "down", detail: `${layout.listen} is held by ${holder.who}` };
  return row("control", up, `${layout.apiUrl}  ${pidText(identity)}`);
}

function hostRows(
  info: HostInfo | "silent",
  vms: VmList | "silent" | "denied",
  identity: ProcessIdentity | undefined,
): StatusRow[] {
  if (info === "silent") return [row("host", false, "")];
  const items = typeof vms === "string" ? [] : vms.items;
  return [
    row("host", true, hostText(info, identity)),
    row("accelerator", true, `${info.accelerator}: ${info.accelerator_reason}`, info.accelerator),
    row("VMs", true, `${items.filter((vm) => vm.status === "running").length} running`, "ok"),
    ...info.templates.map(({ name, status: state, description }) =>
      row(`template ${name}`, state === "ready", description, state),
    ),
  ];
}

function row(what: string, up: boolean, detail: string, state = up ? "running" : "down"): StatusRow {
  return { what, state, detail: up || state !== "down" ? detail : "" };
}

function pidText(identity: ProcessIdentity | undefined): string {
  return identity === undefined ? "" : `pid ${identity.pid}`;
}

function hostText(info: HostInfo, identity: ProcessIdentity | undefined): string {
  return `${pidText(identity)}, ${info.memory_mib} MiB for VMs, QEMU ${info.qemu_version.split(" ")[0] ?? ""}, cgroup limits: ${info.resource_limits}`;
}

/** "denied": somebody may be there, but the socket is not for us. */
function hostGet<T>(layout: Layout, path: string): Promise<T | "silent" | "denied"> {
  return new Promise((resolve) => {
    const call = request({ socketPath: layout.hostSocket, path, timeout: DEADLINE_MS }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.once("end", () => resolve(response.statusCode === 200 ? (JSON.parse(text) as T) : "silent"));
      response.once("error", () => resolve("silent"));
    });
    call.once("timeout", () => call.destroy());
    call.once("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code === "EACCES" ? "denied" : "silent"),
    );
    call.end();
  });
}
