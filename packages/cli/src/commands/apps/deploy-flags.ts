import type { deployStrategies } from "@skerry/contract/apps/deploy-status";
import type { EnvFlags } from "../vms/env-flags.ts";

/** How a deploy that has begun is shown. */
export interface FollowFlags {
  readonly detach?: boolean;
  readonly json?: boolean;
}

export interface DeployFlags extends EnvFlags, FollowFlags {
  readonly app?: string;
  readonly template?: string;
  readonly image?: string;
  readonly dockerfile?: string;
  readonly cache?: boolean;
  readonly command?: string;
  readonly port?: number;
  readonly checkPath?: string;
  readonly process?: Readonly<Record<string, string>>;
  readonly releaseCommand?: string;
  readonly secret?: readonly string[];
  readonly strategy?: (typeof deployStrategies)[number];
}
