// Flags of a machine's health check.

import { CHECK_FAILURES_MAX } from "@skerry/contract/checks/check-bounds";
import type { MachineCreateRequest } from "@skerry/sdk";
import type { Command } from "commander";
import { CliError } from "../../errors/errors.ts";
import { given, portNumber, wholeNumber } from "../../input/options.ts";

export interface CheckFlags {
  readonly checkPath?: string;
  readonly checkPort?: number;
  readonly checkCommand?: string;
  readonly checkInterval?: string;
  readonly checkTimeout?: string;
  readonly checkFailures?: number;
  readonly checkGrace?: string;
  readonly checkRestart?: boolean;
}

export function addCheckFlags(command: Command): void {
  command
    .option("--check-path <path>", "health check: its host sends GET for this path; needs --check-port")
    .option(
      "--check-port <port>",
      "health check: port of the guest, which takes connections or answers --check-path",
      portNumber,
    )
    .option("--check-command <line>", "health check: shell command line in the guest that exits with 0")
    .option("--check-interval <duration>", "from one check to the next (default: 10s)")
    .option("--check-timeout <duration>", "a check that has not passed by then has failed (default: 5s)")
    .option(
      "--check-failures <count>",
      "failed checks in a row that make it failing (default: 3)",
      (text: string) => wholeNumber(text, CHECK_FAILURES_MAX),
    )
    .option(
      "--check-grace <duration>",
      "after a start failures do not count until a first check passes (default: 30s)",
    )
    .option("--check-restart", "when it fails, stop it and start it again by its restart policy");
}

/** Undefined where no flag is given. */
export function checkRequest(flags: CheckFlags): NonNullable<MachineCreateRequest["check"]> | undefined {
  const check = given({
    path: flags.checkPath,
    port: flags.checkPort,
    command: flags.checkCommand,
    interval: flags.checkInterval,
    timeout: flags.checkTimeout,
    failures: flags.checkFailures,
    grace: flags.checkGrace,
    restart: flags.checkRestart,
  });
  if (Object.keys(check).length === 0) return undefined;
  const isOfPort = check.port !== undefined;
  if (isOfPort === (check.command !== undefined) || (!isOfPort && check.path !== undefined))
    throw new CliError("invalid_input", "A health check is a port, with a path or without, or a command.", {
      remediation:
        "Give --check-port, with --check-path for HTTP, or --check-command. An update replaces the whole check.",
    });
  return check;
}
