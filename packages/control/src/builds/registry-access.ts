// What a step that pulls or pushes images gets for it: logins, mirrors and authorities, as files in the memory of the build's microVM. They are written
// before the step begins and removed when it has ended, so no other step sees them, and nothing that is kept of a build has them.

import { readFile } from "node:fs/promises";
import {
  authFile,
  mirrorsFile,
  REGISTRY_AUTH_FILE,
  REGISTRY_CA_FILE,
  REGISTRY_FOLDER,
  REGISTRY_MIRRORS_FILE,
} from "@skerry/build-plan/scripts/registry-files";
import { SkerryError } from "@skerry/contract/errors";
import { registryOf } from "@skerry/contract/registries/registry-host";
import { GROUP_BEFORE } from "@skerry/contract/templates/template-name";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { VmRef } from "../host-client/vm-ref.ts";
import { hasRegistryLogins, openRegistryLogins, type RegistryLogin } from "../registries/registries.ts";
import type { StepRow } from "./build-store.ts";
import { removeFromBuild } from "./step-secrets.ts";

interface Access {
  readonly client: HostClient;
  readonly vm: VmRef;
  readonly step: PullingStep;
  /** Nothing of the tenant's runs in this microVM afterwards, or nothing with all rights. */
  readonly mayLogIn: boolean;
}

type PullingStep = Pick<StepRow, "kind" | "env" | "org_id">;

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

export function usesRegistries({ kind }: Pick<StepRow, "kind">): boolean {
  return kind === "image" || kind === "dockerfile" || kind === "push";
}

/** Nothing is written where there is nothing to know. */
export async function giveRegistryAccess(
  context: Context,
  { client, vm, step, mayLogIn }: Access,
  stop: AbortSignal,
): Promise<void> {
  const { caFile } = context.registries;
  const mirrors = mirrorsFor(context, step);
  const logins = mayLogIn ? await loginsFor(context, step) : [];
  const files = [
    { path: REGISTRY_AUTH_FILE, text: logins.length > 0 ? authFile(logins) : "" },
    { path: REGISTRY_MIRRORS_FILE, text: mirrorsFile(mirrors) },
    { path: REGISTRY_CA_FILE, text: caFile === undefined ? "" : await readAuthorities(caFile) },
  ].filter(({ text }) => text !== "");
  if (files.length === 0) return;
  await client.files.makeDirectory(vm, REGISTRY_FOLDER, FOLDER_MODE, stop);
  for (const { path, text } of files) {
    const content = Buffer.from(text);
    const file = { path, mode: FILE_MODE, sizeBytes: content.length, content: once(content) };
    await client.files.write(vm, file, stop);
  }
}

/** Also where the step was ended before it could remove them. */
export async function takeRegistryAccess(
  { client, vm }: Pick<Access, "client" | "vm">,
  stop: AbortSignal,
): Promise<void> {
  await removeFromBuild({ client, vm }, REGISTRY_FOLDER, stop);
}

/** A push goes to the registry itself. Of the settings it needs only the one that says whether that registry has TLS. */
function mirrorsFor({ registries }: Context, { kind }: PullingStep): Context["registries"]["mirrors"] {
  const { mirrors } = registries;
  return kind === "push" ? mirrors.filter(({ registry, mirror }) => registry === mirror) : mirrors;
}

/**
 * A Dockerfile may name any registry, an image names one. A later group of a Dockerfile pulls nothing, and the commands of the one before may have made
 * themselves master of the microVM: it gets none.
 */
async function loginsFor(context: Context, step: PullingStep): Promise<readonly RegistryLogin[]> {
  const { kind, env, org_id } = step;
  if (env["STEP_FROM"] === GROUP_BEFORE) return [];
  if (kind === "dockerfile") return openRegistryLogins(context, org_id);
  return openRegistryLogins(context, org_id, hostsFor(context, step));
}

/** Whether there are credentials for the image that the step pulls. */
export function hasLogins(context: Context, step: PullingStep): Promise<boolean> {
  return hasRegistryLogins(context, step.org_id, hostsFor(context, step));
}

/** The registry of one image, and the mirrors that are asked in its place. */
function hostsFor(context: Context, step: PullingStep): readonly string[] {
  const registry = registryOf(step.env["STEP_IMAGE"] ?? "");
  const mirrors = mirrorsFor(context, step).filter((one) => one.registry === registry);
  return [registry, ...mirrors.map(({ mirror }) => registryOf(`${mirror}/`))];
}

async function readAuthorities(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new SkerryError("internal", "The file of registries' authorities cannot be read.", { cause });
  }
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}
