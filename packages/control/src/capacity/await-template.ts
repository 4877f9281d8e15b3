// A request that waits for an organization's own template on its way to a host. A template of a few hundred megabytes is there in seconds, and a client that
// was told to come again would ask for the same. What takes longer goes on without the request, which is told when to ask again.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import { hostsOfTemplate } from "../templates/own-template-rows.ts";
import { copiesOf } from "../templates/template-copy-rows.ts";

/** Below what clients and proxies wait for an answer. */
export const TEMPLATE_WAIT_MS = 30_000;
const LOOK_MS = 250;
const RETRY_S = 5;

export interface ComingTemplate {
  readonly id: string;
  /** As the request has it. */
  readonly name: string;
  /** The host that it is on its way to. */
  readonly hostId: string;
  /** Hosts with room, which lacked it. The first that it comes to will do. */
  readonly lacking: readonly string[];
}

/** Resolves when it has come, or does not come to this host any more: the caller looks again. `endMs` is of `performance.now()`. Throws
 *  `template_not_ready`. */
export async function awaitTemplate(
  context: Context,
  { id, name, hostId, lacking }: ComingTemplate,
  endMs: number,
): Promise<void> {
  while (performance.now() < endMs) {
    const places = await hostsOfTemplate(context.db, id);
    if (lacking.some((host) => places.has(host))) return;
    const copies = await copiesOf(context.db, id);
    if (copies.some((copy) => copy.host_id === hostId && copy.status === "failed")) return;
    await sleep(LOOK_MS);
  }
  throw notBrought(name, null);
}

/** `reason`: why it did not get there; null while it is on its way. */
export function notBrought(name: string, reason: string | null): SkerryError {
  const message =
    reason === null
      ? `The template "${name}" is on its way to a host that has room.`
      : `The template "${name}" could not be brought to a host that has room: ${reason}`;
  return new SkerryError("template_not_ready", message, {
    remediation:
      reason === null
        ? "Try again in a few seconds."
        : "Destroy what was made of it and is no longer needed, or try again in some minutes.",
    retryAfterS: RETRY_S,
    context: { field: "template", value: name },
  });
}
