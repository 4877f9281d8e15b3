// The Dockerfile of a context, which only the builder has: before its step begins it is read there, for what
// the builder's buildah does not read by itself.

import { posix } from "node:path";
import { CONTEXT_FOLDER } from "@skerry/build-plan/scripts/builder-scripts";
import {
  DOCKERFILE_FILE_MAX_BYTES,
  readsDockerfile,
  withDockerfile,
} from "@skerry/build-plan/dockerfile/dockerfile-step";
import { SkerryError } from "@skerry/contract/errors";
import type { HostClient } from "../host-client/host-client.ts";
import type { VmRef } from "../host-client/vm-ref.ts";
import type { StepRow } from "./build-store.ts";
import { readGuestText } from "./read-guest-file.ts";

interface Reading {
  readonly client: HostClient;
  readonly vm: VmRef;
  readonly step: Pick<StepRow, "kind" | "env">;
}

/** Environment of the step's command. Throws `invalid_build` with the line of what builds do not have. */
export async function stepEnv({ client, vm, step }: Reading, stop: AbortSignal): Promise<StepRow["env"]> {
  if (!readsDockerfile(step)) return step.env;
  const path = posix.join(CONTEXT_FOLDER, step.env["STEP_FILE"] ?? "Dockerfile");
  const reading = readGuestText(client, vm, { path, maxBytes: DOCKERFILE_FILE_MAX_BYTES }, stop);
  const text = await reading.catch(unlessNoFile);
  return text === undefined ? step.env : withDockerfile(step.env, text);
}

/** The step says that there is none. */
function unlessNoFile(error: unknown): undefined {
  const isNone =
    error instanceof SkerryError && (error.code === "file_not_found" || error.code === "path_not_file");
  if (!isNone) throw error;
}
