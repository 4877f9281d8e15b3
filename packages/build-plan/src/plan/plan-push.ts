// From a template to the steps that push it to a registry. The first one makes an image of the disk, and knows no credentials; the second one has
// those, and no disk.

import { DEFAULT_WORKDIR } from "@skerry/contract/default-workdir";
import type { BuildPlan, PlannedConfig } from "../build-plan.ts";
import { PACK_SCRIPT, PUSH_SCRIPT } from "../scripts/builder-scripts.ts";
import { checkPushReference } from "./image-reference.ts";
import { buildStep } from "./planned-step.ts";

const EMPTY: PlannedConfig = { env: {}, user: null, workdir: null };

interface Pushed {
  /** Id of the version. */
  readonly template: string;
  readonly image: string;
  readonly config: PlannedConfig;
  /** Of the version, so that the same version is the same image each time. */
  readonly createdAt: Date;
}

/** Throws `invalid_build` where the reference is none, or where environment and `start` are longer than a step may be. */
export function planPush({ template, image, config, createdAt }: Pushed): BuildPlan {
  checkPushReference(image);
  const pack = buildStep({
    kind: "pack",
    shown: `make an image of ${template}`,
    script: PACK_SCRIPT,
    variables: { CONFIG: imageConfigBegin(config, createdAt) },
    sees: EMPTY,
    inputs: [],
  });
  const push = buildStep({
    kind: "push",
    shown: `skopeo copy to ${image}`,
    script: PUSH_SCRIPT,
    variables: { IMAGE: image },
    sees: EMPTY,
    inputs: [],
  });
  return { on: { template }, steps: [pack, push], config };
}

/** The image's configuration without its last brace: the digest of its layer, which is known when that has been made, comes behind it. */
function imageConfigBegin({ env, user, workdir, start }: PlannedConfig, createdAt: Date): string {
  const whole = JSON.stringify({
    created: createdAt.toISOString(),
    architecture: "amd64",
    os: "linux",
    config: {
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      ...(user !== null && { User: user }),
      // An image that names no folder means its root.
      WorkingDir: workdir ?? DEFAULT_WORKDIR,
      ...(start !== undefined && { Cmd: ["/bin/sh", "-c", start.command] }),
    },
  });
  return whole.slice(0, -1);
}
