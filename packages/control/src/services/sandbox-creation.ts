// POST /v1/sandboxes from the wish to a usable microVM. The row is written first, so whatever happens after it, somebody
// finishes: this request, or the reconciler once this request's claim on the row has lapsed.

import { setInterval } from "node:timers";
import { SkerryError } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";
import type { Template } from "@skerry/contract/platform";
import type { Size } from "@skerry/contract/sizes";
import type { Sandbox, SandboxCreateRequest } from "@skerry/contract/sandboxes";
import { timed } from "../metrics/timed.ts";
import { lockAvailableHost, type HostLoad } from "../store/hosts.ts";
import { egressDefault } from "../store/organizations.ts";
import {
  CLAIM_MS,
  extendClaim,
  findSandbox,
  insertSandbox,
  moveSandbox,
  type NewSandbox,
  type SandboxRow,
} from "../store/sandboxes.ts";
import type { Caller, Context } from "./context.ts";
import type { Attempt, Creation, Outcome } from "./idempotency.ts";
import { fits, place } from "./placement.ts";
import { holdQuotas } from "./quotas.ts";
import { readWish, type SandboxWish } from "./sandbox-wish.ts";
import { sandboxOf } from "./sandboxes.ts";
import { hostsWithTemplate } from "./templates.ts";

const NO_CAPACITY_RETRY_S = 10;

/** Its answer comes when the sandbox is running: the next call into it does not fail for not being ready. */
export function sandboxCreation(
  context: Context,
  caller: Caller,
  request: SandboxCreateRequest,
): Creation<Sandbox> {
  return {
    create: async (attempt) => sandboxOf(await createSandbox(context, { caller, request }, attempt)),
    outcome: (id) => outcomeOf(context, caller, id),
  };
}

async function createSandbox(
  context: Context,
  { caller, request }: { readonly caller: Caller; readonly request: SandboxCreateRequest },
  attempt: Attempt,
): Promise<SandboxRow> {
  const wish = readWish(request, await egressDefault(context.db, caller.orgId));
  const { template, hosts } = await hostsWithTemplate(context, wish.template);
  const sandbox = newSandbox(caller, template, wish);
  return timed(context.metrics.sandboxCreation, async () => {
    const { row, address } = await reserve(context, hosts, { size: wish.size, sandbox, attempt });
    using _claim = keepClaim(context, row.id);
    return await start(context, row, address);
  });
}

type Unplaced = Omit<NewSandbox, "host_id">;

function newSandbox(caller: Caller, template: Template, wish: SandboxWish): Unplaced {
  return {
    id: newId("sandbox"),
    org_id: caller.orgId,
    name: wish.name,
    template: template.name,
    mode: wish.mode,
    size: wish.size.name,
    vcpus: wish.size.vcpus,
    memory_mib: wish.size.memory_mib,
    disk_gib: template.disk_gib,
    execution_id: newId("execution"),
    env: wish.env,
    metadata: wish.metadata,
    egress: wish.egress,
    timeout_ms: wish.timeoutMs,
  };
}

/** Writes the row on the first host that still has room when it is locked. */
async function reserve(
  context: Context,
  hosts: readonly HostLoad[],
  { size, sandbox, attempt }: { size: Size; sandbox: Unplaced; attempt: Attempt },
): Promise<{ row: SandboxRow; address: string }> {
  const placement = place(hosts, size, context.limits.vcpusPerCpu);
  if (placement.kind === "too_large") {
    throw new SkerryError("size_too_large", `No host is large enough for the size "${size.name}".`, {
      remediation: `The largest host gives ${placement.largestMemoryMib} MiB to sandboxes; choose a smaller size.`,
      context: { field: "size", value: size.name, memory_mib: size.memory_mib },
    });
  }
  for (const hostId of placement.kind === "candidates" ? placement.hostIds : []) {
    const reserved = await context.db.transaction().execute(async (transaction) => {
      // Before the host, everywhere: who locks in another order waits for each other.
      await holdQuotas(context, transaction, { orgId: sandbox.org_id, wish: { ...sandbox, sandboxes: 1 } });
      const host = await lockAvailableHost(transaction, hostId);
      if (host === undefined || !fits(host, size, context.limits.vcpusPerCpu)) return undefined;
      const row = await insertSandbox(transaction, { ...sandbox, host_id: hostId });
      await attempt.begun(transaction, row.id);
      return { row, address: host.address };
    });
    if (reserved !== undefined) return reserved;
  }
  throw new SkerryError("no_capacity", `There is no room for a sandbox of the size "${size.name}" now.`, {
    remediation: "Destroy sandboxes that you no longer need, or try again later.",
    retryAfterS: NO_CAPACITY_RETRY_S,
    context: { size: size.name, memory_mib: size.memory_mib },
  });
}

/** Extends the claim on the row for as long as this request works on it. */
function keepClaim(context: Context, id: string): Disposable {
  const timer = setInterval(() => {
    extendClaim(context.db, id).catch((error: unknown) => {
      context.log.warn({ err: error, sandbox_id: id }, "could not extend the claim on a sandbox");
    });
  }, CLAIM_MS / 3);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

async function start(context: Context, row: SandboxRow, address: string): Promise<SandboxRow> {
  const client = context.hosts.client(address);
  try {
    await client.startVm(row.id, {
      execution_id: row.execution_id,
      template: row.template,
      size: row.size,
      hostname: row.id.replace("_", "-"),
      env: row.env,
      egress: row.egress,
      egress_version: row.egress_version,
    });
  } catch (error) {
    await giveBack(context, row, address);
    const reason = error instanceof SkerryError ? error.message : "internal error";
    await moveSandbox(context.db, row, "failed", `could not start: ${reason}`);
    throw error;
  }
  const running = await moveSandbox(context.db, row, "running");
  if (running !== undefined) return running;
  // Somebody destroyed it, or this request was so slow that the reconciler took it for dead.
  await giveBack(context, row, address);
  throw new SkerryError("sandbox_not_running", "The sandbox was destroyed while it was being created.", {
    context: { sandbox_id: row.id },
  });
}

/** What this attempt took on the host. Where the host does not answer, the reconciler finds a VM without a row later. */
async function giveBack(context: Context, row: SandboxRow, address: string): Promise<void> {
  await context.hosts
    .client(address)
    .destroyVm(row)
    .catch((error: unknown) => {
      context.log.warn({ err: error, sandbox_id: row.id }, "could not give a sandbox back to its host");
      context.wake();
    });
}

/** What became of a creation that nobody answered. One that died in the middle is `creating` until the reconciler fails it. */
async function outcomeOf(context: Context, caller: Caller, id: string): Promise<Outcome<Sandbox>> {
  const row = await findSandbox(context.db, caller.orgId, id);
  if (row === undefined) return { kind: "nothing" };
  if (row.status === "creating") {
    // Only a hint, so our clock will do: who waits for the reconciler should not wait for its turn.
    if (row.claimed_until !== null && row.claimed_until.getTime() < Date.now()) context.wake();
    return { kind: "pending" };
  }
  return row.started_at === null ? { kind: "nothing" } : { kind: "usable", answer: sandboxOf(row) };
}
