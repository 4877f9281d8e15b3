import { SkerryError } from "@skerry/contract/errors";
import type { ListeningPort } from "@skerry/contract/host-api/ports";
import type { Port, PortAccess, PortList } from "@skerry/contract/vms/ports";
import { authorize } from "../../api/authorize.ts";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { unlessOwned } from "../owned.ts";
import { callVm, vmError, type VmKind, type VmRef } from "../vm-kind.ts";
import { closePort, openPort, publicPorts, PUBLIC_PORTS_MAX } from "./port-store.ts";
import { EVERY_PORT, isPublicPort } from "../public-ports.ts";

/** By number. */
export async function listPorts(context: Context, caller: Caller, ref: VmRef): Promise<PortList> {
  const listening = await callVm(context, caller, ref, (vm, client) => client.ports.list(vm)).catch(
    async (error: unknown) => {
      throw await vmError(context, caller, ref, error);
    },
  );
  const open = await publicPorts(context.db, { orgId: caller.orgId, id: ref.id });
  const named = open.filter((port) => port !== EVERY_PORT);
  const numbers = new Set([...listening.items.map(({ port }) => port), ...named]);
  const items = [...numbers]
    .toSorted((a, b) => a - b)
    .map((port) => portOf(port, isPublicPort(open, port), listening.items));
  return { items, truncated: listening.truncated };
}

function portOf(port: number, isPublic: boolean, listening: readonly ListeningPort[]): Port {
  const listeners = listening.filter((listener) => listener.port === port);
  return {
    port,
    public: isPublic,
    listening: listeners.length > 0,
    addresses: [...new Set(listeners.map(({ address }) => address))],
    process: listeners.map(({ process }) => process).find((process) => process !== "") ?? null,
  };
}

export async function setPortAccess(
  context: Context,
  caller: Caller,
  { kind, id, port, isPublic }: VmRef & { readonly port: number; readonly isPublic: boolean },
): Promise<PortAccess> {
  unlessOwned(kind, await kind.get(context, caller, id));
  if (isPublic) requireOpening(caller, kind);
  const owned = { orgId: caller.orgId, id, port };
  if (!isPublic) await closePort(context.db, owned);
  else if (!(await openPort(context.db, owned))) {
    throw new SkerryError("quota_exceeded", `${PUBLIC_PORTS_MAX} ports of the ${kind.noun} are public.`, {
      remediation: "Close one of them.",
      context: { limit: PUBLIC_PORTS_MAX },
    });
  }
  return { port, public: isPublic };
}

/** Throws `forbidden` where the caller may not open ports of such VMs to everybody, for which it needs what a signed URL of one needs. */
export function requireOpening(caller: Caller, { table }: Pick<VmKind, "table">): void {
  authorize(caller, { scope: `${table}:execute`, role: "member" });
}

/** Of the row of a VM. */
export function areAllPortsPublic({ public_ports }: { readonly public_ports: readonly number[] }): boolean {
  return public_ports.includes(EVERY_PORT);
}

/** Until one of them is closed. */
export async function openAllPorts(
  { db }: Context,
  caller: Caller,
  { kind, id }: Pick<VmRef, "kind" | "id">,
): Promise<void> {
  requireOpening(caller, kind);
  await openPort(db, { orgId: caller.orgId, id, port: EVERY_PORT });
}

/** What a host says of a port, with the port and what to do. */
export function portError(
  error: unknown,
  { kind, port }: { readonly kind: Pick<VmKind, "noun" | "table">; readonly port: number },
): unknown {
  if (!(error instanceof SkerryError) || error.code !== "port_not_listening") return error;
  return new SkerryError("port_not_listening", `Nothing listens on port ${port} in the ${kind.noun}.`, {
    remediation: `Start a server that listens on 127.0.0.1 or 0.0.0.0, port ${port}, or wait until it does. \`GET /v1/${kind.table}/{id}/ports\` lists what listens.`,
    context: { port },
    cause: error,
  });
}
