// PUT /v1/builds/{id}/context: a tar archive on its way into the build's microVM. Nothing outside of it looks into the archive, or keeps it.

import { posix } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Build } from "@skerry/contract/builds/build";
import { CONTEXT_MAX_BYTES } from "@skerry/contract/builds/context-bounds";
import { CONTEXT_FOLDER } from "@skerry/build-plan/scripts/builder-scripts";
import { SkerryError } from "@skerry/contract/errors";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { VmRef } from "../host-client/vm-ref.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import { requireToRead } from "../secrets/secrets.ts";
import { BoundedUpload } from "../vms/files/bounded-upload.ts";
import { noteContext, type BuildRow } from "./build-store.ts";
import { getBuild } from "./builds.ts";
import { removeFromBuild } from "./step-secrets.ts";
import { findPullApart } from "./pull-apart.ts";

const AGAIN_MS = 500;
/** How long the microVM of a build may take to start when nothing is known that it waits for. */
const VM_WITHIN_MS = 300_000;

export interface Upload {
  readonly id: string;
  readonly content: AsyncIterable<Buffer>;
  readonly gone: AbortSignal;
}

interface PartsUpload {
  readonly id: string;
  readonly parts: readonly ContextPart[];
  readonly gone: AbortSignal;
}

/** A tar archive, and the folder of the context that it is unpacked in. */
interface ContextPart {
  readonly folder: string;
  readonly content: () => AsyncIterable<Buffer>;
}

/**
 * Resolves when all of it is unpacked: the steps begin. What was unpacked before it broke off may be sent again. It has as long as the build waits
 * for it. Throws `context_missing` after that, and `too_many_streams` where the build or its organization sends too many at once.
 */
export function uploadContext(
  context: Context,
  caller: Caller,
  { content, ...upload }: Upload,
): Promise<Build> {
  return uploadContextParts(context, caller, { ...upload, parts: [{ folder: "", content: () => content }] });
}

/** The same of several archives. */
export function uploadContextParts(context: Context, caller: Caller, upload: PartsUpload): Promise<Build> {
  return whileAwaited(context, caller, upload, (gone) => unpackContext(context, caller, { ...upload, gone }));
}

/** Runs what sends something to a build that waits for its context. Throws as `uploadContext` does. */
export async function whileAwaited<T>(
  context: Context,
  caller: Caller,
  upload: Pick<Upload, "id" | "gone">,
  send: (gone: AbortSignal) => Promise<T>,
): Promise<T> {
  const { id } = upload;
  const { row } = await getBuild(context, caller, id);
  requireWaiting(row);
  // The steps that read what is sent can print the secrets of the request.
  if ((row.request.secrets ?? []).length > 0) requireToRead(caller);
  using _open = context.openUploads.take(caller, { kind: { noun: "build" }, id });
  using late = new Lateness(context, caller, row);
  try {
    return await send(AbortSignal.any([upload.gone, late.signal]));
  } catch (error) {
    throw late.signal.aborted ? contextMissing() : error;
  }
}

const UNREAD_AGAIN_MS = 1_000;

/** Aborts when a build has waited for its context for too long, which begins when its microVM is there. */
class Lateness implements Disposable {
  readonly #late = new AbortController();
  readonly #over = new AbortController();

  constructor(context: Context, caller: Caller, row: BuildRow) {
    void this.#watch(context, caller, row);
  }

  get signal(): AbortSignal {
    return this.#late.signal;
  }

  [Symbol.dispose](): void {
    this.#over.abort();
  }

  async #watch(context: Context, caller: Caller, { id, context_left_ms: firstMs }: BuildRow): Promise<void> {
    const { signal } = this.#over;
    let leftMs = firstMs;
    while (leftMs > 0) {
      await sleep(Math.ceil(leftMs), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      // A build that cannot be read now is looked at again.
      const found = await getBuild(context, caller, id).catch(() => undefined);
      leftMs = found?.row.context_left_ms ?? UNREAD_AGAIN_MS;
    }
    this.#late.abort();
  }
}

export function contextMissing(): SkerryError {
  return new SkerryError("context_missing", "The context of the build did not come within ten minutes.", {
    remediation: "Retry the build, and send less: `.dockerignore` names what it does not need.",
  });
}

async function unpackContext(
  context: Context,
  caller: Caller,
  { id, parts, gone }: PartsUpload,
): Promise<Build> {
  const { client, vm } = await waitingVm(context, caller, id, gone);
  // What an upload that broke off has left: a link of it would lead this one's files anywhere.
  await removeFromBuild({ client, vm }, CONTEXT_FOLDER, gone);
  for (const { folder, content } of parts) {
    const path = posix.join(CONTEXT_FOLDER, folder);
    const bounded = new BoundedUpload(content(), CONTEXT_MAX_BYTES);
    try {
      await client.files.makeDirectory(vm, path, 0o755, gone);
      await client.files.unpack(vm, { path, content: bounded }, gone);
    } catch (error) {
      if (bounded.exceeded) throw tooLarge();
      requireWaiting((await getBuild(context, caller, id)).row);
      throw error;
    }
  }
  if (!(await noteContext(context.db, id))) requireWaiting((await getBuild(context, caller, id)).row);
  context.wake("builder");
  return (await getBuild(context, caller, id)).build;
}

/** Its microVM, as soon as it runs: not the one that pulls a private image, which ends before. */
export async function waitingVm(
  context: Context,
  caller: Caller,
  id: string,
  gone: AbortSignal,
): Promise<{ readonly client: HostClient; readonly vm: VmRef }> {
  let endMs = performance.now() + VM_WITHIN_MS;
  for (;;) {
    const { row } = await getBuild(context, caller, id);
    const vm = { id, execution_id: requireWaiting(row) };
    const address = await hostAddress(context.db, row.host_id);
    if (address === undefined)
      throw new SkerryError("host_unavailable", "The host of the build was removed.");
    const client = context.hosts.client(address);
    const isPulled = (await findPullApart(context, row)) === undefined;
    const isExplained = row.waits_for !== null && row.waits_for.kind !== "context";
    if (!isPulled || isExplained) endMs = performance.now() + VM_WITHIN_MS;
    const vms = await client.listVms(gone);
    if (
      isPulled &&
      vms.some((one) => one.id === id && one.execution_id === vm.execution_id && one.status === "running")
    )
      return { client, vm };
    if (performance.now() > endMs)
      throw new SkerryError("host_unavailable", "The microVM of the build does not start.", {
        remediation: "Try again, or look at the build: it may have failed.",
        retryAfterS: 5,
      });
    await sleep(AGAIN_MS, undefined, { signal: gone }).catch(() => gone.throwIfAborted());
  }
}

/** The incarnation of its microVM. Throws where it waits for no context. */
function requireWaiting(row: BuildRow): string {
  if (row.status === "canceled") throw new SkerryError("build_canceled", "The build was canceled.");
  if (row.status === "queued" && row.context === "awaited" && row.execution_id !== null)
    return row.execution_id;
  if (row.context === "none")
    throw new SkerryError("build_needs_no_context", "The build was created without a context.", {
      remediation: "Create it with `context: true`.",
    });
  throw new SkerryError("build_over", `The build is ${row.status}, and has no use for a context.`, {
    context: { status: row.status },
  });
}

function tooLarge(): SkerryError {
  return new SkerryError("context_too_large", `The context is larger than ${CONTEXT_MAX_BYTES} bytes.`, {
    remediation: "Leave out what the build does not need: `.dockerignore` names it.",
    context: { max_bytes: CONTEXT_MAX_BYTES },
  });
}
