// What a step has pulled, found in an archive, or pushed.

import { IMAGE_DIGEST_FILE } from "@skerry/build-plan/scripts/registry-files";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { VmRef } from "../host-client/vm-ref.ts";
import { noteSource, type BuildRow, type StepRow } from "./build-store.ts";
import { readGuestFile } from "./read-guest-file.ts";

const DIGEST_MAX_BYTES = 100;

interface Pulled {
  readonly row: Pick<BuildRow, "id" | "request">;
  readonly client: HostClient;
  readonly vm: VmRef;
}

/** Before the step has ended, so that a replica that dies in between loses nothing of it. The microVM says it, to its own tenant alone. */
export async function noteImage(
  { db }: Context,
  { row, client, vm }: Pulled,
  { kind, isDone }: Pick<StepRow, "kind"> & { readonly isDone: boolean },
  stop: AbortSignal,
): Promise<void> {
  const image = imageOf(row.request, kind);
  if (image === undefined || !isDone) return;
  const file = { path: IMAGE_DIGEST_FILE, noun: "digest", maxBytes: DIGEST_MAX_BYTES };
  const digest = (await readGuestFile(client, vm, file, stop)).trim();
  if (!/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new SkerryError("build_step_failed", "The image's digest is none.");
  await noteSource(db, row.id, { image, digest });
}

function imageOf(request: BuildRow["request"], kind: string): string | undefined {
  if (kind === "archive") return "archive";
  if (kind === "push") return request.push?.image;
  return kind === "image" ? request.image : undefined;
}
