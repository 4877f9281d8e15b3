// What a request for a sandbox asks for, with every default filled in and every bound checked.

import { IDLE_MIN_MS, SANDBOX_TIMEOUT_DEFAULT_MS, SANDBOX_TIMEOUT_MAX_MS } from "@skerry/contract/bounds";
import type { SandboxCreateRequest } from "@skerry/contract/sandboxes/sandbox";
import type { SandboxMode } from "@skerry/contract/sandboxes/sandbox-status";
import { DEFAULT_SIZE, type Size } from "@skerry/contract/sizes";
import { SkerryError } from "@skerry/contract/errors";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { readOrigin, sizeOf, type VmOrigin } from "../snapshots/vm-origin.ts";
import { readBoundedDuration, readDurationWithin } from "../values/durations.ts";
import { readEgressParams, type EgressParams } from "../vms/egress/egress-params.ts";
import { checkInjected } from "../vms/egress/inject-params.ts";
import { checkEnv } from "../values/check-env.ts";
import { checkMetadata } from "../values/check-metadata.ts";
import { readSize } from "../values/sizes.ts";
import { askedSecrets, type GivenSecrets } from "../vms/creation/vm-secrets.ts";
import { checkVmName } from "../vms/vm-names.ts";

export interface SandboxParams {
  readonly name: string | null;
  readonly origin: VmOrigin;
  readonly mode: SandboxMode;
  readonly size: Size;
  readonly timeoutMs: number;
  /** Null: nothing but the end of its time pauses it. */
  readonly pauseAfterIdleMs: number | null;
  /** Whether a call into it resumes it. */
  readonly autoResume: boolean;
  readonly env: Readonly<Record<string, string>>;
  /** As they are now, with their values. */
  readonly given: GivenSecrets;
  readonly metadata: Readonly<Record<string, string>>;
  readonly egress: EgressParams;
}

export async function readSandboxParams(
  context: Context,
  caller: Caller,
  request: SandboxCreateRequest,
): Promise<SandboxParams> {
  const fields = readFields(request);
  const [given, origin] = await Promise.all([
    askedSecrets(context, caller, { ...request, env: fields.env }),
    readOrigin(context, caller, { noun: "sandbox", request }),
    checkInjected(context, caller, request.egress),
  ]);
  const size = origin.kind === "snapshot" ? sizeOf(origin.snapshot, request.size) : fields.size;
  return { ...fields, given, origin, size };
}

function readFields(request: SandboxCreateRequest): Omit<SandboxParams, "origin" | "given"> {
  return {
    name: request.name === undefined ? null : checkVmName(request.name),
    mode: request.mode ?? "ephemeral",
    size: readSize(request.size ?? DEFAULT_SIZE),
    timeoutMs:
      request.timeout === undefined
        ? SANDBOX_TIMEOUT_DEFAULT_MS
        : readBoundedDuration("timeout", request.timeout, SANDBOX_TIMEOUT_MAX_MS),
    pauseAfterIdleMs: readPauseAfterIdle(request),
    autoResume: request.auto_resume ?? true,
    env: checkEnv(request.env ?? {}),
    metadata: checkMetadata(request.metadata ?? {}),
    egress: readEgressParams(request.egress),
  };
}

/** Null: nothing but the end of its time pauses it. */
export function readPauseAfterIdle({
  mode,
  pause_after_idle: text,
}: {
  readonly mode?: SandboxMode;
  readonly pause_after_idle?: string | null;
}): number | null {
  if (text === undefined || text === null) return null;
  if (mode !== "persistent")
    throw new SkerryError(
      "bad_request",
      'Only a persistent sandbox is paused, so it alone has "pause_after_idle".',
      {
        remediation: 'Add `"mode": "persistent"`, or leave out "pause_after_idle".',
        context: { field: "pause_after_idle", value: text },
      },
    );
  const bounds = { minMs: IDLE_MIN_MS, maxMs: SANDBOX_TIMEOUT_MAX_MS };
  return readDurationWithin("pause_after_idle", text, bounds);
}
