// What a request for a sandbox asks for, with every default filled in and every bound checked. Pure.

import { SANDBOX_TIMEOUT_DEFAULT_MS, SANDBOX_TIMEOUT_MAX_MS } from "@skerry/contract/bounds";
import type { SandboxCreateRequest } from "@skerry/contract/sandboxes/sandbox";
import type { SandboxMode } from "@skerry/contract/sandboxes/sandbox-status";
import { DEFAULT_SIZE, type Size } from "@skerry/contract/sizes";
import { readBoundedDuration } from "../values/durations.ts";
import { readEgressParams, type EgressParams } from "../vms/egress/egress-params.ts";
import { checkEnv } from "../values/check-env.ts";
import { checkMetadata } from "../values/check-metadata.ts";
import { checkText } from "../values/check-text.ts";
import { readSize } from "../values/sizes.ts";
import { checkVmName } from "../vms/vm-names.ts";

export interface SandboxParams {
  readonly name: string | null;
  /** Name or id. */
  readonly template: string;
  readonly mode: SandboxMode;
  readonly size: Size;
  readonly timeoutMs: number;
  readonly env: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly egress: EgressParams;
}

export function readSandboxParams(request: SandboxCreateRequest): SandboxParams {
  return {
    name: request.name === undefined ? null : checkVmName(request.name),
    template: checkText("template", request.template),
    mode: request.mode ?? "ephemeral",
    size: readSize(request.size ?? DEFAULT_SIZE),
    timeoutMs:
      request.timeout === undefined
        ? SANDBOX_TIMEOUT_DEFAULT_MS
        : readBoundedDuration("timeout", request.timeout, SANDBOX_TIMEOUT_MAX_MS),
    env: checkEnv(request.env ?? {}),
    metadata: checkMetadata(request.metadata ?? {}),
    egress: readEgressParams(request.egress),
  };
}
