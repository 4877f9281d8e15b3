// Who listens where our API should be. Any user of the machine may take a free port, and would get our token with
// the first request: so before it the kernel is asked for the process behind the socket.

import { readdir, readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "../../errors/errors.ts";
import type { Layout } from "../system/layout.ts";
import type { ProcessIdentity } from "../system/processes.ts";
import { runningServices } from "./running-services.ts";
import { findSystemUser } from "../system/system-user.ts";

export type PortHolder =
  | { readonly state: "free" }
  | { readonly state: "control" }
  | { readonly state: "other"; readonly who: string };

/** From the kernel's table of sockets. */
interface Listener {
  readonly address: string;
  readonly port: number;
  readonly uid: number;
  readonly inode: string;
}

/** TCP_LISTEN, in hex. */
const LISTENING = "0A";
/** A control that has just been started again may listen before its new pid is written down. */
const SECOND_LOOK_MS = 250;

export async function portHolder(layout: Layout): Promise<PortHolder> {
  const first = await look(layout);
  if (first.state !== "other") return first;
  await sleep(SECOND_LOOK_MS);
  return look(layout);
}

export function portTaken(layout: Layout, who: string): CliError {
  return new CliError("port_taken", `${layout.listen} is held by ${who}, which is not this Skerry.`, {
    remediation: "End it, or choose another port, for example SKERRY_LISTEN=127.0.0.1:7171.",
  });
}

async function look(layout: Layout): Promise<PortHolder> {
  const listeners = (await allListeners()).filter((one) => isReachedAs(layout.apiUrl, one));
  if (listeners.length === 0) return { state: "free" };
  const { services } = await runningServices(layout);
  for (const listener of listeners) {
    if (!(await belongsTo(listener, services.control)))
      return { state: "other", who: await nameOf(listener) };
  }
  return { state: "control" };
}

async function allListeners(): Promise<Listener[]> {
  const tables = await Promise.all(
    ["/proc/net/tcp", "/proc/net/tcp6"].map((file) => readFile(file, "utf8").catch(() => "")),
  );
  return tables.flatMap((table) => parseListeners(table));
}

/** The listening sockets of a `/proc/net/tcp` or `/proc/net/tcp6`. */
export function parseListeners(table: string): Listener[] {
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  return rows
    .filter((fields) => fields[3] === LISTENING)
    .map((fields) => {
      const [address = "", port = ""] = (fields[1] ?? "").split(":");
      return { address, port: Number.parseInt(port, 16), uid: Number(fields[7]), inode: fields[9] ?? "" };
    });
}

/** Whether a request to this URL may end at this socket. A name may mean any address of the machine. */
export function isReachedAs(apiUrl: string, { address, port }: Pick<Listener, "address" | "port">): boolean {
  const url = new URL(apiUrl);
  if (Number(url.port || "80") !== port) return false;
  const octets = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(url.hostname)?.slice(1);
  if (octets === undefined || /^0+$/.test(address)) return true;
  // The kernel prints an IPv4 address as one little-endian number; the last of the four numbers of a mapped IPv6 address is one.
  const hex = Buffer.from(octets.toReversed().map(Number)).toString("hex").toUpperCase();
  return address === hex || address === `0000000000000000FFFF0000${hex}`;
}

/** By the socket's inode among control's files; where we may not look at these (without root), by the socket's user. */
async function belongsTo(listener: Listener, control: ProcessIdentity | undefined): Promise<boolean> {
  if (control === undefined) return false;
  const sockets = await socketsOf(control.pid).catch(() => undefined);
  if (sockets !== undefined) return sockets.has(listener.inode);
  return listener.uid === (await findSystemUser())?.uid;
}

async function socketsOf(pid: number | string): Promise<Set<string>> {
  const files = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => "")));
  return new Set(targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []));
}

async function nameOf(listener: Listener): Promise<string> {
  for (const pid of (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry))) {
    const sockets = await socketsOf(pid).catch(() => new Set<string>());
    if (!sockets.has(listener.inode)) continue;
    const program = await readlink(`/proc/${pid}/exe`).catch(() => "?");
    return `pid ${pid} (${basename(program)})`;
  }
  return `a process of the user with uid ${listener.uid}`;
}
