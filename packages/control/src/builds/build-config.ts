// What holds for the VMs of a template beside its files: what its build was asked for, over what the image said that it was made of.

import { imageConfig, IMAGE_CONFIG_MAX_BYTES } from "@skerry/contract/builds/plan/image-config";
import { IMAGE_CONFIG_FILE } from "@skerry/contract/builds/plan/builder-scripts";
import { isUndetected } from "@skerry/contract/builds/plan/plan-build";
import { SkerryError } from "@skerry/contract/errors";
import type { HostClient } from "../host-client/host-client.ts";
import type { TemplateConfig } from "../db/tables/template-tables.ts";
import type { BuildRow } from "./build-store.ts";

export async function configOfBuild(
  { id, execution_id, config, request, target }: BuildRow & { readonly execution_id: string },
  client: HostClient,
  stop: AbortSignal,
): Promise<TemplateConfig> {
  // Of what is detected in a repository, a Dockerfile alone begins on an empty disk.
  const isImage =
    request.dockerfile !== undefined ||
    request.image !== undefined ||
    (isUndetected(request) && target.on.kind === "empty");
  if (!isImage) return config;
  const text = await readImageConfig(client, { id, execution_id }, stop);
  const image = imageConfig(text);
  return {
    env: { ...image.env, ...config.env },
    user: config.user ?? image.user,
    workdir: config.workdir ?? image.workdir,
    ...(config.start !== undefined && { start: config.start }),
  };
}

async function readImageConfig(
  client: HostClient,
  vm: { readonly id: string; readonly execution_id: string },
  stop: AbortSignal,
): Promise<string> {
  const { content } = await client.files.read(vm, IMAGE_CONFIG_FILE, stop);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > IMAGE_CONFIG_MAX_BYTES)
      throw new SkerryError("build_step_failed", "The image's configuration is too long.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
