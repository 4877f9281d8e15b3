// A health check as it is asked for, kept, shown and given to a host. Pure.

import {
  CHECK_FAILURES_DEFAULT,
  CHECK_GRACE_DEFAULT_MS,
  CHECK_GRACE_MAX_MS,
  CHECK_INTERVAL_DEFAULT_MS,
  CHECK_INTERVAL_MAX_MS,
  CHECK_INTERVAL_MIN_MS,
  CHECK_TIMEOUT_DEFAULT_MS,
  CHECK_TIMEOUT_MAX_MS,
  CHECK_TIMEOUT_MIN_MS,
} from "@skerry/contract/checks/check-bounds";
import type { CheckRequest, CheckShown } from "@skerry/contract/checks/health-check";
import { formatDuration } from "@skerry/contract/durations";
import { SkerryError } from "@skerry/contract/errors";
import type { HostCheck } from "@skerry/contract/host-api/checks";
import { checkText } from "./check-text.ts";
import { readDurationWithin, readOptionalBound } from "./durations.ts";

/** As rows keep it: what the host is given, and what control decides about its outcome. */
type StoredCheck = HostCheck & { readonly restart: boolean };

const intervals = { minMs: CHECK_INTERVAL_MIN_MS, maxMs: CHECK_INTERVAL_MAX_MS };
const timeouts = { minMs: CHECK_TIMEOUT_MIN_MS, maxMs: CHECK_TIMEOUT_MAX_MS };

export function readCheck(request: CheckRequest): StoredCheck {
  const { interval, timeout, failures = CHECK_FAILURES_DEFAULT, grace, restart = false } = request;
  const within = (name: string, text: string | undefined, bounds: typeof intervals, defaultMs: number) =>
    text === undefined ? defaultMs : readDurationWithin(`check.${name}`, text, bounds);
  return {
    ...probeOf(request),
    interval_ms: within("interval", interval, intervals, CHECK_INTERVAL_DEFAULT_MS),
    timeout_ms: within("timeout", timeout, timeouts, CHECK_TIMEOUT_DEFAULT_MS),
    failures,
    grace_ms:
      grace === undefined
        ? CHECK_GRACE_DEFAULT_MS
        : readOptionalBound("check.grace", grace, CHECK_GRACE_MAX_MS),
    restart,
  };
}

/** A path goes into the first line of a request as it is, so nothing in it may end that line. */
const PATH = /^\/[\x21-\x7e]*$/;

function probeOf({ path, port, command }: CheckRequest): Pick<StoredCheck, "http" | "tcp" | "command"> {
  if (command !== undefined && path === undefined && port === undefined)
    return { command: checkText("check.command", command) };
  if (command !== undefined || port === undefined)
    throw invalid("check", "A check is a port, with a path or without one, or a command.");
  if (path === undefined) return { tcp: { port } };
  if (!PATH.test(path))
    throw invalid("check.path", '"check.path" must begin with "/", without spaces and only in ASCII.');
  return { http: { path, port } };
}

function invalid(field: string, message: string): SkerryError {
  return new SkerryError("bad_request", message, {
    remediation: 'For example {"path": "/health", "port": 8080}, or {"command": "pg_isready"}.',
    context: { field },
  });
}

export function checkShownOf({ http, tcp = http, command, ...check }: StoredCheck): CheckShown {
  return {
    ...tcp,
    ...(command === undefined ? {} : { command }),
    interval: formatDuration(check.interval_ms),
    timeout: formatDuration(check.timeout_ms),
    failures: check.failures,
    grace: check.grace_ms === 0 ? "0s" : formatDuration(check.grace_ms),
    restart: check.restart,
  };
}

/** Without what control decides about its outcome. */
export function hostCheckOf({ restart: _restart, ...check }: StoredCheck): HostCheck {
  return check;
}
