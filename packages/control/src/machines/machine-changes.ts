// The change that a request asks of a machine: takes its row, and gives the values to write. Pure.

import { isDeepStrictEqual } from "node:util";
import { STOP_TIMEOUT_MAX_MS } from "@skerry/contract/bounds";
import type { MachineUpdateRequest } from "@skerry/contract/machines/machine";
import type { PendingValues } from "../db/tables/machine-tables.ts";
import { checkEnv, checkTogether } from "../values/check-env.ts";
import { checkMetadata } from "../values/check-metadata.ts";
import { checkText } from "../values/check-text.ts";
import { readCheck } from "../values/health-checks.ts";
import { readBoundedDuration } from "../values/durations.ts";
import { merged } from "../values/merged.ts";
import { readSize } from "../values/sizes.ts";
import { wholeEnv } from "../vms/env.ts";
import { refuseTwice } from "../vms/creation/vm-secrets.ts";
import { checkVmName } from "../vms/vm-names.ts";
import { readAutostop, readRestart } from "./machine-params.ts";
import type { MachineRow } from "./machine-store.ts";
import type { MachineUpdate } from "./machine-update-store.ts";

/** The row with the change. */
export function changedMachine(row: MachineRow, request: MachineUpdateRequest): MachineUpdate {
  const { metadata, stop_timeout: stopTimeout } = request;
  return {
    name: nameOf(row, request),
    metadata: metadata === undefined ? row.metadata : checkMetadata(merged(row.metadata, metadata)),
    stop_timeout_ms:
      stopTimeout === undefined
        ? row.stop_timeout_ms
        : readBoundedDuration("stop_timeout", stopTimeout, STOP_TIMEOUT_MAX_MS),
    ...restartOf(row, request.restart),
    health_check: checkOf(row, request.check),
    stop_after_idle_ms:
      request.autostop === undefined ? row.stop_after_idle_ms : readAutostop(request.autostop),
    autostart: request.autostart ?? row.autostart,
    pending: pendingOf(row, request),
  };
}

/** A row older than the rule for names may have one that the rule refuses. */
function nameOf(row: MachineRow, { name = row.name }: MachineUpdateRequest): string | null {
  return name === null || name === row.name ? name : checkVmName(name);
}

function checkOf(row: MachineRow, asked: MachineUpdateRequest["check"]) {
  if (asked === undefined) return row.health_check;
  return asked === null ? null : readCheck(asked);
}

/** Retries belong to their policy: another policy has its own default. */
function restartOf(row: MachineRow, asked: MachineUpdateRequest["restart"] = {}) {
  const { policy = row.restart_policy, max_retries: maxRetries, disk = row.restart_disk } = asked;
  const kept = policy === row.restart_policy ? row.restart_max_retries : undefined;
  const retries = maxRetries === undefined ? kept : maxRetries;
  const read = readRestart({ policy, disk, ...(retries === undefined ? {} : { max_retries: retries }) });
  return {
    restart_policy: read.policy,
    restart_max_retries: read.maxRetries,
    restart_disk: read.disk,
  };
}

/** Values that the next start brings, as far as they are not in effect. */
function pendingOf(row: MachineRow, request: MachineUpdateRequest): PendingValues | null {
  const inEffect = { size: row.size, command: row.command, env: wholeEnv(row.env) };
  const waiting = { ...inEffect, ...row.pending };
  const { size = waiting.size, command = waiting.command, env } = request;
  const next = {
    size: readSize(size).name,
    command: command === null ? null : checkText("command", command),
    env: env === undefined ? waiting.env : checkEnv(merged(waiting.env, env)),
  };
  if (env !== undefined) refuseTwice(row.secrets ?? [], next.env);
  if (next.command !== null) checkTogether({ command: next.command, env: next.env });
  const pending: PendingValues = {
    ...(next.size === inEffect.size ? {} : { size: next.size }),
    ...(next.command === inEffect.command ? {} : { command: next.command }),
    ...(isDeepStrictEqual(next.env, inEffect.env) ? {} : { env: next.env }),
  };
  return Object.keys(pending).length === 0 ? null : pending;
}

/** For the log of its life: the fields that are others now. Empty where the change changes nothing. */
export function changeText(row: MachineRow, update: MachineUpdate): string {
  const now = Object.entries(fieldsOf).flatMap(([field, columns]) =>
    columns.every((column) => isDeepStrictEqual(row[column], update[column])) ? [] : [field],
  );
  const pending = isDeepStrictEqual(row.pending, update.pending) ? [] : [pendingText(update.pending)];
  return [...(now.length === 0 ? [] : [now.join(", ")]), ...pending].join("; ");
}

const fieldsOf = {
  name: ["name"],
  metadata: ["metadata"],
  restart: ["restart_policy", "restart_max_retries", "restart_disk"],
  stop_timeout: ["stop_timeout_ms"],
  check: ["health_check"],
  autostop: ["stop_after_idle_ms"],
  autostart: ["autostart"],
} as const satisfies Readonly<Record<string, readonly (keyof MachineUpdate)[]>>;

function pendingText(pending: PendingValues | null): string {
  return pending === null
    ? "nothing waits for its next start any more"
    : `at its next start: ${Object.keys(pending).join(", ")}`;
}
