// A manifest as a request has it, checked, with every default filled in.

import { formatDuration, parseDuration } from "@skerry/contract/durations";
import { SkerryError } from "@skerry/contract/errors";
import {
  CANARY_HOLD_DEFAULT_MS,
  CANARY_PERCENT_DEFAULT,
  DEPLOY_TIMEOUT_DEFAULT_MS,
  DEPLOY_TIMEOUT_MAX_MS,
  DRAIN_TIMEOUT_DEFAULT_MS,
  DRAIN_TIMEOUT_MAX_MS,
  WATCH_DEFAULT_MS,
  WATCH_MAX_MS,
} from "@skerry/contract/apps/app-bounds";
import type { Manifest } from "@skerry/contract/apps/release";
import { checkText } from "../../values/check-text.ts";
import { readBoundedDuration, readOptionalBound } from "../../values/durations.ts";
import { readCheck } from "../../values/health-checks.ts";
import { readSize } from "../../values/sizes.ts";
import type { StoredManifest } from "../app-tables.ts";

/** Takes what is left out from the release before. */
export function readManifest(asked: Manifest, before: StoredManifest | undefined): StoredManifest {
  const whole: Manifest = { ...before, ...asked };
  const {
    processes = { web: {} },
    release_command: command,
    strategy = "rolling",
    drain_timeout,
    timeout,
    watch = formatDuration(WATCH_DEFAULT_MS),
  } = whole;
  const services = (whole.services ?? []).map(readService);
  const deadline = bounded("timeout", timeout, [DEPLOY_TIMEOUT_DEFAULT_MS, DEPLOY_TIMEOUT_MAX_MS]);
  checkProcesses(processes);
  if (typeof command === "string") checkText("release_command", command);
  checkServices(services, processes);
  readOptionalBound("watch", watch, WATCH_MAX_MS);
  return {
    ...{ processes, services, strategy, watch },
    ...(typeof command === "string" && { release_command: command }),
    drain_timeout: bounded("drain_timeout", drain_timeout, [DRAIN_TIMEOUT_DEFAULT_MS, DRAIN_TIMEOUT_MAX_MS]),
    ...(strategy === "canary" && { canary: readCanary(whole.canary, deadline) }),
    timeout: deadline,
  };
}

function readCanary(
  { percent = CANARY_PERCENT_DEFAULT, hold }: NonNullable<Manifest["canary"]> = {},
  timeout: string,
): NonNullable<StoredManifest["canary"]> {
  const longest = (parseDuration(timeout) ?? 0) - 1;
  return { percent, hold: bounded("canary.hold", hold, [CANARY_HOLD_DEFAULT_MS, longest]) };
}

function checkProcesses(processes: StoredManifest["processes"]): void {
  if (Object.keys(processes).length === 0)
    throw invalid("processes", "An app has at least one group of processes.");
  for (const [group, { command, size }] of Object.entries(processes)) {
    if (command !== undefined) checkText(`processes.${group}.command`, command);
    if (size !== undefined) readSize(size);
  }
}

function checkServices(services: StoredManifest["services"], processes: StoredManifest["processes"]): void {
  const groups = services.map(({ group }) => group);
  const unknown = groups.find((group) => processes[group] === undefined);
  if (unknown !== undefined)
    throw invalid(
      "services",
      `"services" names the group "${unknown}", and "processes" has none of that name.`,
    );
  const twice = groups.find((group, at) => groups.indexOf(group) !== at);
  if (twice !== undefined) throw invalid("services", `"services" has two ports of the group "${twice}".`);
}

/** Interval of checks that say none: requests wait for the first one that passes. */
const CHECK_INTERVAL = "2s";
/**
 * Time of theirs to begin: a runtime that starts beside others on emulated processors takes most of a minute.
 */
const CHECK_GRACE = "2m";

function readService({
  group,
  port,
  protocol = "http",
  check: asked = protocol === "http" ? { path: "/" } : { port },
}: NonNullable<Manifest["services"]>[number]): StoredManifest["services"][number] {
  const check = {
    interval: CHECK_INTERVAL,
    grace: CHECK_GRACE,
    ...(asked.path !== undefined && { port }),
    ...asked,
  };
  readCheck(check);
  return { group, port, protocol, check };
}

function bounded(
  field: string,
  text: string | undefined,
  [defaultMs, maxMs]: readonly [number, number],
): string {
  if (text === undefined) return formatDuration(Math.min(defaultMs, maxMs));
  readBoundedDuration(field, text, maxMs);
  return text;
}

function invalid(field: string, message: string): SkerryError {
  return new SkerryError("invalid_manifest", message, {
    remediation: "Name groups that `processes` has, each at most once.",
    context: { field },
  });
}
