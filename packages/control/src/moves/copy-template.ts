// One template on its way to a host that lacks it: the host is told of it and says which layers it misses, the object store or another host gives it
// those, and what is to be made of it at once is frozen. Every step can be taken again, by the replica that comes after one that died. Only then do `template_hosts` name the host;
// whatever ends it before has the host remove what it got.

import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import type { DiskLayer } from "@skerry/contract/host-api/templates";
import type { Context } from "../context.ts";
import { isDatabaseOutage } from "../db/database.ts";
import { LeaseLostError } from "../db/fence.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import { layerSources } from "./layer-sources.ts";
import {
  dropCopy,
  failCopy,
  finishCopy,
  postponeCopy,
  type CopyRow,
} from "../templates/template-copy-rows.ts";
import {
  finishDeletingTemplates,
  hostsOfTemplate,
  readyTemplate,
  type OwnTemplateRow,
} from "../templates/own-template-rows.ts";

/** Other errors than those of `final` pass, as a rule. */
const ATTEMPTS_MAX = 6;

/** What another attempt at this host would meet again. */
const final: ReadonlySet<ErrorCode> = new Set([
  "bad_request",
  "disk_full",
  "guest_failed",
  "guest_timeout",
  "no_capacity",
  "program_missing",
  "template_start_failed",
  "unknown_size",
  "vm_user_not_found",
]);

function isFinal(error: unknown): boolean {
  return !(error instanceof SkerryError) || final.has(error.code);
}

/** Resolves when the template is there, or nothing of it is. Rejects where it can only be carried on later. */
export async function copyTemplate(context: Context, copy: CopyRow, stop: AbortSignal): Promise<void> {
  const address = await hostAddress(context.db, copy.host_id);
  if (address === undefined) return dropCopy(context.db, copy);
  const target = context.hosts.client(address);
  const template = await readyTemplate(context.db, copy.template_id);
  if (template === undefined) return withdraw(context, copy, target);
  try {
    await bring(context, { copy, template, target, stop });
  } catch (error) {
    if (stop.aborted || error instanceof LeaseLostError || isDatabaseOutage(error)) throw error;
    const reason = error instanceof SkerryError ? error.message : "internal error";
    context.log.warn(
      { err: error, template_id: copy.template_id, host_id: copy.host_id },
      "a template did not get to another host",
    );
    if (!isFinal(error) && copy.attempts < ATTEMPTS_MAX) return postponeCopy(context.db, copy, reason);
    return takeBack(context, { copy, target, stop }, reason);
  }
  const isWanted = await context.db.transaction().execute((transaction) => finishCopy(transaction, copy));
  if (!isWanted) return withdraw(context, copy, target);
  context.log.info({ template_id: copy.template_id, host_id: copy.host_id }, "a template is on another host");
}

async function takeBack(
  context: Context,
  { copy, target, stop }: Omit<Bringing, "template">,
  reason: string,
): Promise<void> {
  // It may have got there meanwhile, with another copy: this one was for a size more.
  const places = await hostsOfTemplate(context.db, copy.template_id);
  if (places.has(copy.host_id)) return dropCopy(context.db, copy);
  await target.templates.delete(copy.template_id, stop);
  return failCopy(context.db, copy, reason);
}

/** The row is the last to go: where the host does not answer, it is asked again. */
async function withdraw(context: Context, copy: CopyRow, target: HostClient): Promise<void> {
  await target.templates.delete(copy.template_id);
  await dropCopy(context.db, copy);
  await finishDeletingTemplates(context.db);
}

interface Bringing {
  readonly copy: CopyRow;
  readonly template: OwnTemplateRow;
  readonly target: HostClient;
  readonly stop: AbortSignal;
}

async function bring(context: Context, bringing: Bringing): Promise<void> {
  const { copy, target, stop } = bringing;
  let missing = await put(bringing);
  let error: unknown;
  for (const source of layerSources) {
    if (missing.length === 0) break;
    try {
      await source(context, { ...bringing, digests: missing.map(({ digest }) => digest) }, stop);
    } catch (cause) {
      if (stop.aborted || isFinal(cause)) throw cause;
      context.log.warn(
        { err: cause, template_id: copy.template_id },
        "a source of layers did not have all of them",
      );
      error = cause;
    }
    missing = await put(bringing);
  }
  if (missing.length > 0) throw error ?? notInReach;
  for (const size of copy.sizes) await target.templates.freeze(copy.template_id, size, stop);
}

const notInReach = new SkerryError("host_unavailable", "No host that has the template is in reach.");

async function put({ copy, template, target, stop }: Bringing): Promise<readonly DiskLayer[]> {
  const { image, config } = template;
  const { missing } = await target.templates.put(
    copy.template_id,
    { image, ...config, ticket: copy.ticket },
    stop,
  );
  return missing;
}
