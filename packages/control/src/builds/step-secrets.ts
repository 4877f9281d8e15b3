// Secrets of the organization that the request for a build names: each Dockerfile's step has them as files in
// the memory of the build's microVM, and they are removed when it has ended. No row, no log and no layer has
// them.

import { Readable } from "node:stream";
import { SECRETS_FOLDER } from "@skerry/build-plan/scripts/image-scripts";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { VmRef } from "../host-client/vm-ref.ts";
import { openNamed, type AskedSecret } from "../vms/creation/vm-secrets.ts";

interface Receiver {
  readonly client: HostClient;
  readonly vm: VmRef;
  readonly orgId: string;
  readonly secrets: readonly AskedSecret[];
}

/** Before a step begins, each in its version of now. Throws `secret_not_found` where one was deleted. */
export async function giveSecrets(
  context: Context,
  { client, vm, orgId, secrets }: Receiver,
  stop: AbortSignal,
): Promise<void> {
  if (secrets.length === 0) return;
  const { values } = await openNamed(context, { orgId }, secrets);
  await client.files.makeDirectory(vm, SECRETS_FOLDER, 0o700, stop);
  for (const [name, value] of Object.entries(values)) {
    const bytes = Buffer.from(value);
    const content = Readable.from([bytes]);
    await client.files.write(vm, { ...secretFile(name), sizeBytes: bytes.length, content }, stop);
  }
}

/** After it has ended, so that no other step sees them. */
export async function takeSecrets(
  { client, vm, secrets }: Pick<Receiver, "client" | "vm" | "secrets">,
  stop: AbortSignal,
): Promise<void> {
  for (const { name, as = name } of secrets) await removeFromBuild({ client, vm }, secretFile(as).path, stop);
}

/** File that `RUN --mount=type=secret` of this id reads. */
export function secretFile(id: string): { readonly path: string; readonly mode: number } {
  return { path: `${SECRETS_FOLDER}/${id}`, mode: 0o600 };
}

/** Succeeds also where it is gone already. */
export async function removeFromBuild(
  { client, vm }: Pick<Receiver, "client" | "vm">,
  path: string,
  stop: AbortSignal,
): Promise<void> {
  await client.files.remove(vm, path, true, stop).catch((error: unknown) => {
    if (!(error instanceof SkerryError && error.code === "file_not_found")) throw error;
  });
}
