// What a request for a sandbox asks for, with every default filled in and every bound checked. Pure.

import type { Egress } from "@skerry/contract/egress";
import { SkerryError } from "@skerry/contract/errors";
import { SANDBOX_TIMEOUT_DEFAULT_MS, SANDBOX_TIMEOUT_MAX_MS } from "@skerry/contract/limits";
import type { SandboxCreateRequest } from "@skerry/contract/sandboxes";
import { DEFAULT_SIZE, type Size } from "@skerry/contract/sizes";
import { readBoundedDuration } from "./durations.ts";
import { readEgress } from "./egress-policy.ts";
import { checkEnv, checkMetadata, checkText } from "./env.ts";
import { readSize } from "./sizes.ts";

export interface SandboxWish {
  readonly name: string | null;
  /** Name or id. */
  readonly template: string;
  readonly mode: "ephemeral";
  readonly size: Size;
  readonly timeoutMs: number;
  readonly env: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
  /** Given the organization's default. */
  readonly egress: (mode: Egress["mode"]) => Egress;
}

export function readWish(request: SandboxCreateRequest): SandboxWish {
  const egress = (mode: Egress["mode"]): Egress => readEgress(request.egress ?? {}, "egress", mode);
  // What is wrong with it is wrong whatever the default.
  egress("allow_all");
  return {
    name: request.name === undefined ? null : checkText("name", request.name),
    template: checkText("template", request.template),
    mode: readMode(request.mode),
    size: readSize(request.size ?? DEFAULT_SIZE),
    timeoutMs:
      request.timeout === undefined
        ? SANDBOX_TIMEOUT_DEFAULT_MS
        : readBoundedDuration("timeout", request.timeout, SANDBOX_TIMEOUT_MAX_MS),
    env: checkEnv(request.env ?? {}),
    metadata: checkMetadata(request.metadata ?? {}),
    egress,
  };
}

function readMode(mode: SandboxCreateRequest["mode"]): "ephemeral" {
  if (mode !== "persistent") return "ephemeral";
  throw new SkerryError("mode_not_available", "Persistent sandboxes are not available yet.", {
    remediation: 'Use the mode "ephemeral".',
    context: { field: "mode", value: mode },
  });
}
