// Waiting for another request, on any replica, that is pausing or resuming a sandbox.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import { getSandbox } from "./sandboxes.ts";
import type { FoundSandbox, SandboxRow } from "./sandbox-store.ts";

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** Longer than it takes to find out that the replica at work has died, and to finish its work. */
const WAIT_MAX_MS = 60_000;

/** The row when it is neither being paused nor being resumed. */
export async function settledSandbox(context: Context, caller: Tenant, id: string): Promise<FoundSandbox> {
  const deadline = performance.now() + WAIT_MAX_MS;
  let hasWoken = false;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const row = await getSandbox(context, caller, id);
    if (row.status !== "pausing" && row.status !== "resuming") return row;
    if (performance.now() > deadline) throw stillChanging(row);
    // Only a hint, so our clock will do: who waits for VM cleanup should not wait for its turn.
    if (!hasWoken && (row.claimed_until === null || row.claimed_until.getTime() < Date.now())) {
      hasWoken = true;
      context.wake("vm-cleanup");
    }
    await sleep(pauseMs);
  }
}

function stillChanging({ status }: SandboxRow): SkerryError {
  return new SkerryError("host_unavailable", `The sandbox is still ${status}.`, {
    remediation: "Try again in a few seconds.",
    retryAfterS: 5,
    context: { status },
  });
}
