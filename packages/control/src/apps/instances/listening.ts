// Ports that the program of an instance listens on, beside that of its service. A check connects to the
// guest's own loopback, where a server also answers that no other machine can reach. Addresses are the
// guest's words: no other text than that of a loopback address is told.

import { isIP } from "node:net";
import type { ListeningPort } from "@skerry/contract/host-api/ports";
import type { Context } from "../../context.ts";
import { hostAddress } from "../../hosts/host-rows.ts";
import type { AppWork } from "../app-facts.ts";
import type { AppAction, InstanceFact } from "../reconcile-facts.ts";

type Instance = Pick<InstanceFact, "machine_id" | "group_name" | "number">;

/** Why no request comes in from outside; undefined: they do, or nothing is known. */
export async function unreachedReason(
  context: Context,
  app: AppWork,
  instance: Instance,
): Promise<string | undefined> {
  const { port, listeners } = await listenersOf(context, app, instance);
  const own = listeners.filter((one) => one.port === port);
  const [first] = own;
  if (first === undefined || !own.every(({ address }) => isLoopback(address))) return undefined;
  const at = isIP(first.address) === 6 ? `[${first.address}]` : first.address;
  return `${instance.group_name}.${instance.number} listens on ${at}:${port} only, where no request from outside comes in. Have it listen on 0.0.0.0.`;
}

type Fault = AppAction & { kind: "fail" };

/** With the ports that the program listens on, where its check finds nothing on that of its service. */
export async function explained(context: Context, app: AppWork, fault: Fault): Promise<Fault> {
  const { instance, message } = fault;
  if (instance?.failure === undefined || instance.end !== undefined) return fault;
  const ports = await otherPorts(context, app, instance);
  return ports.length === 0
    ? fault
    : {
        ...fault,
        message: `${message}. It listens on ${ports.join(", ")}: \`PORT\` in its environment says where it should.`,
      };
}

/** Ports of which the program may have meant one; empty: it listens where it should, or nothing is known. */
async function otherPorts(context: Context, app: AppWork, instance: Instance): Promise<number[]> {
  const { port, listeners } = await listenersOf(context, app, instance);
  const ports = [...new Set(listeners.map((one) => one.port))].toSorted((a, b) => a - b);
  return ports.includes(port) ? [] : ports.slice(0, PORTS_TOLD_MAX);
}

const PORTS_TOLD_MAX = 5;

function isLoopback(address: string): boolean {
  return /^(::ffff:)?127(\.\d{1,3}){3}$|^::1$/.test(address) && isIP(address) !== 0;
}

interface Listening {
  /** Port of the service; 0: there is none. */
  readonly port: number;
  readonly listeners: readonly ListeningPort[];
}

async function listenersOf(context: Context, app: AppWork, instance: Instance): Promise<Listening> {
  const row = app.instances.find(({ machine_id: id }) => id === instance.machine_id);
  const port = row?.services?.find(({ group }) => group === instance.group_name)?.port;
  const address = await hostAddress(context.db, row?.host_id ?? "");
  if (port === undefined || address === undefined || row?.execution_id == null)
    return { port: 0, listeners: [] };
  const vm = { id: row.machine_id, execution_id: row.execution_id };
  // A host or a guest that does not say is no reason to keep an instance from its requests.
  const { items } = await context.hosts
    .client(address)
    .ports.list(vm)
    .catch(() => ({ items: [] }));
  return { port, listeners: items };
}
