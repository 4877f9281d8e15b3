// What a request for a sandbox asks for, with every default filled in and every bound checked.

import { IDLE_MIN_MS, SANDBOX_TIMEOUT_DEFAULT_MS, SANDBOX_TIMEOUT_MAX_MS } from "@skerry/contract/bounds";
import type { SandboxCreateRequest } from "@skerry/contract/sandboxes/sandbox";
import type { SandboxMode } from "@skerry/contract/sandboxes/sandbox-status";
import { DEFAULT_SIZE, type Size } from "@skerry/contract/sizes";
import { SkerryError } from "@skerry/contract/errors";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { usableSnapshot, type SnapshotRow } from "../snapshots/snapshots.ts";
import { readBoundedDuration, readDurationWithin } from "../values/durations.ts";
import { readEgressParams, type EgressParams } from "../vms/egress/egress-params.ts";
import { checkEnv } from "../values/check-env.ts";
import { checkMetadata } from "../values/check-metadata.ts";
import { checkText } from "../values/check-text.ts";
import { readSize } from "../values/sizes.ts";
import { checkVmName } from "../vms/vm-names.ts";

export interface SandboxParams {
  readonly name: string | null;
  readonly origin: SandboxOrigin;
  readonly mode: SandboxMode;
  readonly size: Size;
  readonly timeoutMs: number;
  /** Null: nothing but the end of its time pauses it. */
  readonly pauseAfterIdleMs: number | null;
  readonly env: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly egress: EgressParams;
}

/** What it begins with. */
type SandboxOrigin =
  /** Name or id. */
  | { readonly kind: "template"; readonly template: string }
  | { readonly kind: "snapshot"; readonly snapshot: SnapshotRow };

export async function readSandboxParams(
  context: Context,
  caller: Caller,
  request: SandboxCreateRequest,
): Promise<SandboxParams> {
  const fields = readFields(request);
  const origin = await readOrigin(context, caller, request);
  const size = origin.kind === "snapshot" ? sizeOf(origin.snapshot, request.size) : fields.size;
  return { ...fields, origin, size };
}

async function readOrigin(
  context: Context,
  caller: Caller,
  { template, snapshot }: SandboxCreateRequest,
): Promise<SandboxOrigin> {
  if (template !== undefined && snapshot === undefined)
    return { kind: "template", template: checkText("template", template) };
  if (snapshot !== undefined && template === undefined)
    return {
      kind: "snapshot",
      snapshot: await usableSnapshot(context, caller, { asked: snapshot, of: "sandbox" }),
    };
  if (template === undefined)
    throw new SkerryError("bad_request", '"template" is missing, and so is "snapshot".', {
      remediation: "Give it: Template name or id, such as `base`; `GET /v1/templates` lists them.",
      context: { field: "template" },
    });
  throw new SkerryError("bad_request", 'A sandbox begins with either "template" or "snapshot".', {
    remediation: "Leave one of them out.",
    context: { field: "snapshot" },
  });
}

/** Its memory has one. */
function sizeOf({ size }: SnapshotRow, asked: string | undefined): Size {
  if (asked === undefined || asked === size) return readSize(size);
  throw new SkerryError(
    "snapshot_incompatible",
    `The snapshot has the size "${size}", and no other is possible.`,
    { remediation: 'Leave out "size".', context: { field: "size", value: asked } },
  );
}

function readFields(request: SandboxCreateRequest): Omit<SandboxParams, "origin"> {
  return {
    name: request.name === undefined ? null : checkVmName(request.name),
    mode: request.mode ?? "ephemeral",
    size: readSize(request.size ?? DEFAULT_SIZE),
    timeoutMs:
      request.timeout === undefined
        ? SANDBOX_TIMEOUT_DEFAULT_MS
        : readBoundedDuration("timeout", request.timeout, SANDBOX_TIMEOUT_MAX_MS),
    pauseAfterIdleMs: readPauseAfterIdle(request),
    env: checkEnv(request.env ?? {}),
    metadata: checkMetadata(request.metadata ?? {}),
    egress: readEgressParams(request.egress),
  };
}

function readPauseAfterIdle({ mode, pause_after_idle: text }: SandboxCreateRequest): number | null {
  if (text === undefined) return null;
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
