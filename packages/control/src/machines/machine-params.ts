// What a request for a machine asks for, with every default filled in and every bound checked.

import { SkerryError } from "@skerry/contract/errors";
import {
  AUTOSTOP_MAX_MS,
  IDLE_MIN_MS,
  RESTART_RETRIES_DEFAULT,
  STOP_TIMEOUT_DEFAULT_MS,
  STOP_TIMEOUT_MAX_MS,
} from "@skerry/contract/bounds";
import type { MachineCreateRequest } from "@skerry/contract/machines/machine";
import type { RestartDisk, RestartPolicy } from "@skerry/contract/machines/machine-status";
import { DEFAULT_SIZE, type Size } from "@skerry/contract/sizes";
import type { VmOwner } from "@skerry/contract/vms/owner";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { StoredCheck } from "../db/tables/machine-tables.ts";
import { readOrigin, sizeOf, type VmOrigin } from "../snapshots/vm-origin.ts";
import { readCheck } from "../values/health-checks.ts";
import { readBoundedDuration, readDurationWithin } from "../values/durations.ts";
import { readEgressParams, type EgressParams } from "../vms/egress/egress-params.ts";
import { checkInjected } from "../vms/egress/inject-params.ts";
import { checkEnv, checkTogether } from "../values/check-env.ts";
import { checkMetadata } from "../values/check-metadata.ts";
import { checkText } from "../values/check-text.ts";
import { readSize } from "../values/sizes.ts";
import { askedSecrets, type GivenSecrets } from "../vms/creation/vm-secrets.ts";
import { checkVmName } from "../vms/vm-names.ts";
import type { SnapshotRow } from "../snapshots/snapshot-row.ts";

export interface MachineParams {
  readonly name: string | null;
  readonly origin: VmOrigin;
  readonly size: Size;
  readonly env: Readonly<Record<string, string>>;
  /** As they are now, with their values. */
  readonly given: GivenSecrets;
  readonly metadata: Readonly<Record<string, string>>;
  readonly egress: EgressParams;
  readonly command: string | null;
  readonly stopTimeoutMs: number;
  readonly check: StoredCheck | null;
  readonly stopAfterIdleMs: number | null;
  readonly autostart: boolean;
  readonly restart: {
    readonly policy: RestartPolicy;
    readonly maxRetries: number | null;
    readonly disk: RestartDisk;
  };
}

export async function readMachineParams(
  context: Context,
  caller: Caller,
  { request, owner }: { readonly request: MachineCreateRequest; readonly owner?: VmOwner | undefined },
): Promise<MachineParams> {
  const fields = readFields(request);
  const origin = await readOrigin(context, caller, { noun: "machine", request });
  await checkInjected(context, caller, request.egress);
  const given = await askedSecrets(context, caller, { ...request, env: fields.env, owner });
  const begun = origin.kind === "template" ? fields : { ...fields, ...ofSnapshot(origin.snapshot, request) };
  const { command, env } = begun;
  if (command !== null) checkTogether({ command, env: { ...env, ...given.values } });
  return { ...begun, given, origin };
}

/** What goes on in its memory. */
function ofSnapshot(
  snapshot: SnapshotRow,
  { size, command }: MachineCreateRequest,
): Pick<MachineParams, "size" | "command"> {
  if (command !== undefined && snapshot.command !== null && command !== snapshot.command)
    throw new SkerryError(
      "snapshot_incompatible",
      "The main process of the snapshot goes on in the machine, so it cannot have another one.",
      { remediation: 'Leave out "command".', context: { field: "command" } },
    );
  return { size: sizeOf(snapshot, size), command: snapshot.command ?? command ?? null };
}

function readFields(request: MachineCreateRequest): Omit<MachineParams, "origin" | "given"> {
  return {
    name: request.name === undefined ? null : checkVmName(request.name),
    size: readSize(request.size ?? DEFAULT_SIZE),
    env: checkEnv(request.env ?? {}),
    metadata: checkMetadata(request.metadata ?? {}),
    egress: readEgressParams(request.egress),
    command: request.command === undefined ? null : checkText("command", request.command),
    stopTimeoutMs:
      request.stop_timeout === undefined
        ? STOP_TIMEOUT_DEFAULT_MS
        : readBoundedDuration("stop_timeout", request.stop_timeout, STOP_TIMEOUT_MAX_MS),
    check: request.check === undefined ? null : readCheck(request.check),
    stopAfterIdleMs: readAutostop(request.autostop ?? null),
    autostart: request.autostart ?? false,
    restart: readRestart(request.restart ?? {}),
  };
}

const idleBounds = { minMs: IDLE_MIN_MS, maxMs: AUTOSTOP_MAX_MS };

export function readAutostop(asked: NonNullable<MachineCreateRequest["autostop"]> | null): number | null {
  return asked === null ? null : readDurationWithin("autostop.idle", asked.idle, idleBounds);
}

/**
 * By default a machine that fails is started again, and one whose work is done is not. It gives up after ten times in a row, so that
 * what can never work does not work at it forever; what should run in any case (`always`) says so.
 */
export function readRestart({
  policy = "on-failure",
  max_retries: maxRetries,
  disk = "keep",
}: NonNullable<MachineCreateRequest["restart"]>): MachineParams["restart"] {
  if (policy === "no" && maxRetries !== undefined && maxRetries !== null) {
    throw new SkerryError("bad_request", `"restart.max_retries" means nothing with the policy "no".`, {
      remediation: 'Leave it out, or use the policy "on-failure" or "always".',
      context: { field: "restart.max_retries" },
    });
  }
  const byDefault = policy === "on-failure" ? RESTART_RETRIES_DEFAULT : null;
  return { policy, maxRetries: maxRetries === undefined ? byDefault : maxRetries, disk };
}
