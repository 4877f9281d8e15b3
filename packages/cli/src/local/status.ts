// `skerry status`: what runs on this machine, and what the host says of itself.

import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { VmList } from "@skerry/contract/host-api/vm";
import { failedText } from "@skerry/contract/waits-for";
import { environment } from "../config.ts";
import { askHost } from "./system/ask-host.ts";
import type { Joined, Layout } from "./system/layout.ts";
import { commandAtWork, type CommandAtWork } from "./system/lock.ts";
import { relativeTime } from "../output/relative-times.ts";
import { hostsRows } from "./hosts-row.ts";
import { longestLoopDelayS } from "./loop-delay.ts";
import { machineRows } from "./machine-rows.ts";
import type { ProcessIdentity } from "./system/processes.ts";
import type { StatusRow } from "./status-row.ts";
import { portHolder, type PortHolder } from "./servers/port.ts";
import { runningServices, type RunningServices } from "./servers/running-services.ts";
import { units } from "./servers/units.ts";

const DEADLINE_MS = 3_000;
const HTTP_OK = 200;
const LOCAL_DOMAIN = "localhost";
/** Clients notice when every answer may be late by more. */
const LOOP_DELAY_GOOD_S = 0.5;

export async function status(layout: Layout): Promise<{ rows: StatusRow[]; running: boolean }> {
  const running = await runningServices(layout);
  const [control, info, vms, command] = await Promise.all([
    layout.joined === undefined ? controlOf(layout, running) : elsewhere(layout.joined),
    askHost<HostInfo>(layout, "/info"),
    askHost<VmList>(layout, "/vms"),
    commandAtWork(layout),
  ]);
  const rows = [
    ...commandRows(command),
    row(running.keeper, running.isKept, keeperText(running)),
    ...control.rows,
    ...(info === "denied"
      ? [row("host", true, "its socket is for root and control; run as root to see the host", "unknown")]
      : hostRows(info, vms, running.services.host)),
  ];
  return { rows, running: running.isKept && control.up && info !== "silent" };
}

/** While the first `skerry up` makes kernel and images nothing else of this machine runs. */
function commandRows(command: CommandAtWork | undefined): StatusRow[] {
  if (command === undefined) return [];
  const since = relativeTime(new Date(command.sinceMs).toISOString());
  return [row(command.command, true, `pid ${command.process.pid}, began ${since}`, "at work")];
}

interface ControlStatus {
  readonly rows: readonly StatusRow[];
  readonly up: boolean;
}

async function controlOf(layout: Layout, { services }: RunningServices): Promise<ControlStatus> {
  const holder = await portHolder(layout);
  const up = holder.state === "control" && (await isHealthy(layout));
  const own = controlRow(layout, holder, up, services.control);
  if (!up) return { rows: [own], up };
  const [delayS, ports, hosts, machines] = await Promise.all([
    longestLoopDelayS(layout),
    portsRow(layout),
    hostsRows(layout),
    machineRows(layout),
  ]);
  return { rows: [own, ports, ...loopRows(delayS), ...hosts, ...machines], up };
}

/** The address form of VMs' ports, as `docs/ports.md` explains it. */
async function portsRow({ listen }: Layout): Promise<StatusRow> {
  const domain = environment()["SKERRY_SANDBOX_DOMAIN"];
  const port = listen.slice(listen.lastIndexOf(":"));
  if (await leadsToPort(listen, `1-sbx-${"0".repeat(26)}.${LOCAL_DOMAIN}${port}`))
    return row("ports", true, `http://PORT-ID.${LOCAL_DOMAIN}${port}/`, "ok");
  if (domain !== undefined) return row("ports", true, `PORT-ID.${domain}`, "ok");
  return row(
    "ports",
    true,
    "below the address of the API; apps in a browser need SKERRY_SANDBOX_DOMAIN",
    "ok",
  );
}

/**
 * Whether control takes this name for a port's: it then asks for a token, where its own health needs none.
 */
async function leadsToPort(listen: string, host: string): Promise<boolean> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const request = get(`http://${listen}/v1/health`, { headers: { host }, signal, agent: false });
  try {
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.resume();
    return response.statusCode !== HTTP_OK;
  } catch {
    return false;
  }
}

/** Whether it is well there is not for us to say: it calls the host, and not the host it. */
function elsewhere({ control, name, address }: Joined): ControlStatus {
  const detail = `this machine is its host "${name}", reached at ${address}`;
  return { rows: [{ what: "control", state: control, detail }], up: true };
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

/** None where the figure is not known, for example to a user without a token of the operator's organization. */
function loopRows(delayS: number | undefined): StatusRow[] {
  if (delayS === undefined) return [];
  const detail = `control's event loop was late by at most ${Math.round(delayS * 1_000)} ms in the last minute`;
  return [row("event loop", true, detail, delayS <= LOOP_DELAY_GOOD_S ? "ok" : "slow")];
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
    ...info.templates.map((template) =>
      row(`template ${template.name}`, template.status === "ready", templateText(template), template.status),
    ),
  ];
}

function templateText({ status, description, failure, progress }: HostInfo["templates"][number]): string {
  if (status === "failed" && failure != null) return failedText(failure);
  return status === "building" && progress != null ? progress : description;
}

function row(what: string, up: boolean, detail: string, state = up ? "running" : "down"): StatusRow {
  return { what, state, detail: up || state !== "down" ? detail : "" };
}

function keeperText({ keeper, process }: RunningServices): string {
  return keeper === "systemd" ? units.target : pidText(process);
}

function pidText(identity: ProcessIdentity | undefined): string {
  return identity === undefined ? "" : `pid ${identity.pid}`;
}

function hostText(info: HostInfo, identity: ProcessIdentity | undefined): string {
  return `${pidText(identity)}, ${info.memory_mib} MiB for VMs, QEMU ${info.qemu_version.split(" ")[0] ?? ""}, cgroup limits: ${info.resource_limits}`;
}
