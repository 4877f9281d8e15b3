// PUT /v1/builds/{id}/secrets/{name}: a value that a Dockerfile's `RUN --mount=type=secret` reads. It goes straight into the memory of the build's
// microVM: no row, no log and no layer has it, and it is gone with the Dockerfile.

import { SkerryError } from "@skerry/contract/errors";
import { SECRETS_FOLDER } from "@skerry/build-plan/scripts/image-scripts";
import { BUILD_SECRET_MAX_BYTES } from "@skerry/contract/builds/context-bounds";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { BoundedUpload, uploadTooLarge } from "../vms/files/bounded-upload.ts";
import { secretFile } from "./step-secrets.ts";
import type { BuildRow } from "./build-store.ts";
import { getBuild } from "./builds.ts";
import { waitingVm, whileAwaited, type Upload } from "./build-context.ts";

/** Resolves when the build has it. The same name twice is the newer value. Throws `context_missing`, and where the build does not wait for
 *  its context any more. */
export async function uploadSecret(
  context: Context,
  caller: Caller,
  { name, ...upload }: Upload & { readonly name: string },
): Promise<undefined> {
  const { row } = await getBuild(context, caller, upload.id);
  refuseNamed(row, name);
  return whileAwaited(context, caller, upload, (gone) =>
    writeSecret(context, caller, { ...upload, name, gone }),
  );
}

/** A file would take the place of the organization's secret, or be replaced by it. */
function refuseNamed({ request: { secrets = [] } }: BuildRow, id: string): void {
  if (!secrets.some(({ name, as = name }) => as === id)) return;
  throw new SkerryError("bad_request", `The build gets ${id} from the organization's secrets.`, {
    remediation: "Give the file another id, or leave the secret out of the build.",
    context: { field: "name" },
  });
}

async function writeSecret(
  context: Context,
  caller: Caller,
  { id, name, content, gone }: Upload & { readonly name: string },
): Promise<undefined> {
  const { client, vm } = await waitingVm(context, caller, id, gone);
  const bounded = new BoundedUpload(content, BUILD_SECRET_MAX_BYTES);
  try {
    await client.files.makeDirectory(vm, SECRETS_FOLDER, 0o700, gone);
    await client.files.write(vm, { ...secretFile(name), sizeBytes: undefined, content: bounded }, gone);
  } catch (error) {
    throw bounded.exceeded ? uploadTooLarge(BUILD_SECRET_MAX_BYTES) : error;
  }
}
