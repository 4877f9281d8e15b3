// Reads what an answer to "why is it so?" needs, each kind by as few requests as it can, and none that the session may not make.

import type { ResourceEventKind, Host } from "@skerry/sdk";
import { moveStatusesUnderWay } from "@skerry/contract/moves/move-status";
import { hasRole } from "@skerry/contract/organizations/roles";
import { skerry } from "../api.ts";
import { nowMs } from "../clock.ts";
import { resources, type ResourceOf } from "../live/resources.ts";
import { may, me } from "../session.ts";
import type { Act, Because, CommonFacts } from "./because.ts";
import type { VmFacts } from "./vm-facts.ts";
import { whyBuild, whyTemplate } from "./why-build.ts";
import { hostActs, whyHost } from "./why-host.ts";
import { machineActs, whyMachine } from "./why-machine.ts";
import { whyMove } from "./why-move.ts";
import { sandboxActs, whySandbox } from "./why-sandbox.ts";
import { whyService } from "./why-service.ts";
import { whySnapshot } from "./why-snapshot.ts";

const EVENTS_READ = 20;
const HOSTS_MAX = 500;

/** Kinds whose states need a sentence. A deploy says itself why it failed. */
export type ExplainedKind = Exclude<ResourceEventKind, "app" | "deploy">;

type Reader<Kind extends ExplainedKind> = (
  resource: ResourceOf<Kind>,
  signal: AbortSignal,
) => Promise<Because>;

const readers: { readonly [Kind in ExplainedKind]: Reader<Kind> } = {
  sandbox: async (sandbox, signal) =>
    whySandbox(
      sandbox,
      await vmFacts(skerry.sandboxes, { ...sandbox, action: sandboxActs[sandbox.status] }, signal),
    ),
  machine: async (machine, signal) => {
    const [facts, ends] = await Promise.all([
      vmFacts(skerry.machines, { ...machine, action: machineActs[machine.status] }, signal),
      skerry.machines.restarts(machine.id, { limit: 1 }, { signal }),
    ]);
    return whyMachine(machine, { ...facts, ends: ends.items });
  },
  snapshot: async (snapshot, signal) =>
    whySnapshot(snapshot, { ...common(), host: await hostOf(snapshot.host_id, signal) }),
  template: async (template) => whyTemplate(template, common()),
  build: async (build) => whyBuild(build, common()),
  host: async (host, signal) => {
    const [hosts, moves, act] = await Promise.all([
      skerry.hosts.page({ limit: HOSTS_MAX }, { signal }),
      skerry.moves.page({ host: host.id }, { signal }),
      actOn(host.id, hostActs[host.status], signal),
    ]);
    const leaving = moves.items.filter(
      ({ from_host_id: from, status }) =>
        from === host.id && (moveStatusesUnderWay as readonly string[]).includes(status),
    );
    return whyHost(host, { ...common(), hosts: hosts.items, leaving, act });
  },
  move: async (move, signal) => {
    const [from, to] = await Promise.all([
      hostOf(move.from_host_id, signal),
      hostOf(move.to_host_id, signal),
    ]);
    return whyMove(move, { ...common(), from, to });
  },
  background_service: async (service, signal) =>
    whyService(service, { ...common(), services: await skerry.backgroundServices.list({ signal }) }),
};

/** Rejects like the requests that it makes. */
export function readBecause<Kind extends ExplainedKind>(
  kind: Kind,
  resource: ResourceOf<Kind>,
  signal: AbortSignal,
): Promise<Because> {
  return readers[kind](resource, signal);
}

interface Explained {
  readonly id: string;
  readonly host_id: string | null;
  readonly action: string | undefined;
}

async function vmFacts(
  calls: typeof skerry.sandboxes | typeof skerry.machines,
  { id, host_id: hostId, action }: Explained,
  signal: AbortSignal,
): Promise<VmFacts> {
  const [events, host, moves, act] = await Promise.all([
    calls.events(id, { limit: EVENTS_READ }, { signal }),
    hostOf(hostId, signal),
    may("hosts:read") ? skerry.moves.page({ vm: id, limit: 1 }, { signal }) : { items: [] },
    actOn(id, action, signal),
  ]);
  return { ...common(), host, move: moves.items[0] ?? null, events: events.items, act };
}

/** One that was removed is not known any more. */
async function hostOf(id: string | null, signal: AbortSignal): Promise<Host | null> {
  if (id === null || !may("hosts:read")) return null;
  const known = resources.host.find(id)?.value;
  if (known != null) return known;
  return skerry.hosts.get(id, { signal }).catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });
}

async function actOn(id: string, action: string | undefined, signal: AbortSignal): Promise<Act> {
  // The log is for admins.
  const mayRead = may("audit:read") && hasRole(me.value?.role ?? "viewer", "admin");
  if (action === undefined || !mayRead) return null;
  const { items } = await skerry.audit.page({ resource_id: id, action, limit: 5 }, { signal });
  return items.find(({ outcome }) => outcome === "success") ?? null;
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "status" in error && error.status === 404;
}

function common(): CommonFacts {
  return { nowMs: nowMs.peek(), userId: me.value?.user_id ?? "" };
}
