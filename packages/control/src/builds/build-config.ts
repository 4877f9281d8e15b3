// What holds for the VMs of a template beside its files: what its build was asked for, over what the image said that it was made of.

import { imageConfig, IMAGE_CONFIG_MAX_BYTES, type ImageConfig } from "@skerry/build-plan/plan/image-config";
import { isUndetected } from "@skerry/build-plan/plan/plan-build";
import { IMAGE_CONFIG_FILE } from "@skerry/build-plan/scripts/registry-files";
import type { HostClient } from "../host-client/host-client.ts";
import type { VmRef } from "../host-client/vm-ref.ts";
import type { StoredImageConfig } from "../db/tables/build-tables.ts";
import type { TemplateConfig } from "../db/tables/template-tables.ts";
import type { BuildRow } from "./build-store.ts";
import { readGuestFile } from "./read-guest-file.ts";

export async function configOfBuild(
  row: BuildRow & { readonly execution_id: string },
  client: HostClient,
  stop: AbortSignal,
): Promise<{ readonly config: TemplateConfig; readonly command: string | null }> {
  const { config } = row;
  const image = await imageOfBuild(row, client, stop);
  if (image === undefined) return { config, command: null };
  const merged = {
    env: { ...image.env, ...config.env },
    user: config.user ?? image.user,
    workdir: config.workdir ?? image.workdir,
    ...(config.start !== undefined && { start: config.start }),
  };
  return { config: merged, command: image.command ?? null };
}

/** Settings of the image that it was made of. Undefined where it stands on a template. */
export async function imageOfBuild(
  row: BuildRow & { readonly execution_id: string },
  client: HostClient,
  stop: AbortSignal,
): Promise<StoredImageConfig | undefined> {
  const { request, target } = row;
  // A Dockerfile alone, among what is detected in a repository, begins on an empty disk.
  const isImage =
    request.dockerfile !== undefined ||
    request.image !== undefined ||
    request.archive === true ||
    (isUndetected(request) && target.on.kind === "empty");
  return isImage ? (row.image_config ?? (await readImageConfig(client, row, stop))) : undefined;
}

/** Settings of the image that the build's microVM has pulled, or built. */
export async function readImageConfig(
  client: HostClient,
  { id, execution_id }: VmRef,
  stop: AbortSignal,
): Promise<ImageConfig> {
  const file = { path: IMAGE_CONFIG_FILE, noun: "configuration", maxBytes: IMAGE_CONFIG_MAX_BYTES };
  return imageConfig(await readGuestFile(client, { id, execution_id }, file, stop));
}
