// Hosts as their operator sees them, and the state that the operator wants of them: it is stored, and the status follows it.

import { SkerryError } from "@skerry/contract/errors";
import type { HostStatus, HostDesired } from "@skerry/contract/hosts/host-status";
import type { Host } from "@skerry/contract/hosts/host";
import { changeHost, findHostView, hostViewsOfIds, listHostViews, type HostView } from "./host-view-store.ts";
import type { Versioned } from "../api/versioned.ts";
import type { Context } from "../context.ts";
import { readPage, type Page, type PageParams } from "../values/page.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";

export async function listHosts(context: Context, params: PageParams): Promise<Page<Host>> {
  const page = await readPage("host", params, (before, limit) => listHostViews(context.db, before, limit));
  return { ...page, items: page.items.map((view) => hostOf(view, context)) };
}

export async function getHost(context: Context, id: string): Promise<Host> {
  return hostOf(await findOrThrow(context, id), context);
}

/** Those of these that there are. */
export async function findHosts(context: Context, ids: readonly string[]): Promise<Versioned<Host>[]> {
  const views = await hostViewsOfIds(context.db, ids);
  return views.map((view) => ({ id: view.id, version: view.version, shownTo: () => hostOf(view, context) }));
}

/** The status that a desired state brings at once. A host that is offline follows it when it is back. */
const statusFor: Readonly<Record<HostDesired, Readonly<Record<HostStatus, HostStatus>>>> = {
  drained: { online: "draining", draining: "draining", maintenance: "maintenance", offline: "offline" },
  active: { online: "online", draining: "online", maintenance: "online", offline: "offline" },
};

/** Stores what the operator wants of a host, and the status that this brings at once. */
export function setHostDesired(context: Context, id: string, desired: HostDesired): Promise<Host> {
  return retryOnConflict(
    async () => {
      const seen = await findOrThrow(context, id);
      const status = statusFor[desired][seen.status];
      if (seen.desired === desired && seen.status === status) return hostOf(seen, context);
      if (seen.status === "maintenance" && desired === "active") refuseWhereSilent(seen);
      const changed = await changeHost(context.db, seen, { desired, status });
      return changed ? getHost(context, id) : undefined;
    },
    () => new SkerryError("internal", "The host changed too often."),
  );
}

/** In maintenance a machine may be off, and then it must not be taken for one that can have VMs. */
function refuseWhereSilent({ name, heartbeat_age_s, silent_since }: HostView): void {
  if (silent_since === null) return;
  throw new SkerryError(
    "host_silent",
    `The host "${name}" has not answered for ${Math.round(heartbeat_age_s)} s.`,
    { remediation: "Start it, and activate it when it answers." },
  );
}

async function findOrThrow(context: Context, id: string): Promise<HostView> {
  const view = await findHostView(context.db, id);
  if (view !== undefined) return view;
  throw new SkerryError("host_not_found", "There is no such host.", {
    remediation: "`GET /v1/hosts` lists the hosts.",
  });
}

function waitsFor(view: HostView): string | null {
  const { status, unsettled, left_behind, waits_for, paused } = view;
  if (left_behind && (status === "offline" || status === "maintenance")) return LEFT_BEHIND;
  if (unsettled && status !== "offline") return SETTLING;
  const why = waits_for ?? (paused > 0 && status === "maintenance" ? keeps(paused) : null);
  return [why, templatesLeft(view)].filter((one) => one !== null).join("; ") || null;
}

/** They were lost with it, and it has come back with them. */
function keeps(paused: number): string {
  const what = paused === 1 ? "1 paused sandbox, which" : `${paused} paused sandboxes, which`;
  return `it keeps the files of ${what} cannot be resumed before the host is activated again`;
}

/** A removal loses them. */
function templatesLeft({ status, only_templates: count }: HostView): string | null {
  if (count === 0 || (status !== "draining" && status !== "maintenance")) return null;
  const what =
    count === 1 ? "1 template that no other host has is" : `${count} templates that no other host has are`;
  return `${what} on it, and cannot be used before another host has a copy, or the host is activated again`;
}

const LEFT_BEHIND =
  "its certificate has ended, or is of an authority that was changed while it was away; have its machine join again: `skerry host join`";
const SETTLING = "what it came back with is not all in its place yet; until then it gets no new VMs";

function hostOf(view: HostView, context: Context): Host {
  const { facts } = view;
  return {
    id: view.id,
    name: view.name,
    status: view.status,
    status_since: view.status_since.toISOString(),
    desired: view.desired,
    waits_for: waitsFor(view),
    last_heartbeat: view.last_heartbeat.toISOString(),
    heartbeat_age_s: view.heartbeat_age_s,
    capacity: {
      cpus: view.cpus,
      vcpus: view.cpus * context.limits.vcpusPerCpu,
      memory_mib: view.memory_mib,
    },
    used: { vcpus: view.used_vcpus, memory_mib: view.used_memory_mib, vms: view.vms },
    accelerator: facts["accelerator"] ?? null,
    accelerator_reason: facts["accelerator_reason"] ?? null,
    versions: {
      skerry: facts["version"] ?? null,
      qemu: facts["qemu_version"] ?? null,
      kernel: facts["kernel_version"] ?? null,
    },
    templates: view.templates,
    usage: view.usage,
  };
}
