// Flags of when a machine is started again and how it is stopped.

import { RESTART_RETRIES_MAX } from "@skerry/contract/bounds";
import {
  restartDisks,
  restartPolicies,
  type RestartDisk,
  type RestartPolicy,
} from "@skerry/contract/machines/machine-status";
import type { MachineUpdateRequest } from "@skerry/sdk";
import { InvalidArgumentError, Option, type Command } from "commander";
import { given } from "../../input/options.ts";

export interface PolicyFlags {
  readonly restart?: RestartPolicy;
  readonly maxRetries?: number | typeof UNLIMITED;
  readonly restartDisk?: RestartDisk;
  readonly stopTimeout?: string;
  readonly autostop?: string | false;
  readonly autostart?: boolean;
}

const UNLIMITED = "unlimited";

/** `defaults`: what the help says of each flag that is left out. */
export function addPolicyFlags(
  command: Command,
  defaults: Readonly<Partial<Record<keyof PolicyFlags, string>>> = {},
): void {
  const by = (flag: keyof PolicyFlags, more = "") =>
    defaults[flag] === undefined ? "" : ` (default: ${defaults[flag]}${more})`;
  command
    .addOption(
      new Option("--restart <policy>", `when it is started again by itself${by("restart")}`).choices(
        restartPolicies,
      ),
    )
    .option(
      "--max-retries <count>",
      `restarts in a row before it is given up, or \`unlimited\`${by("maxRetries")}`,
      retries,
    )
    .addOption(
      new Option(
        "--restart-disk <what>",
        `when its host is lost: keep (wait for the host, which has its disk) or disposable (start elsewhere with a new disk)${by("restartDisk")}`,
      ).choices(restartDisks),
    )
    .option(
      "--stop-timeout <duration>",
      `from SIGTERM to SIGKILL${defaults.stopTimeout === undefined ? ", at most 5m" : by("stopTimeout", ", at most 5m")}`,
    )
    .option("--autostop <duration>", "stop it when nothing has used it for so long")
    .option("--no-autostop", "do not stop it by itself")
    .option("--autostart", "a call into it starts it again where --autostop has stopped it")
    .option("--no-autostart", "no call starts it");
}

function retries(text: string): number | typeof UNLIMITED {
  if (text === UNLIMITED) return UNLIMITED;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (count >= 0 && count <= RESTART_RETRIES_MAX) return count;
  throw new InvalidArgumentError(
    `It must be a whole number from 0 to ${RESTART_RETRIES_MAX}, or "${UNLIMITED}".`,
  );
}

export function policyRequest(
  flags: PolicyFlags,
): Pick<MachineUpdateRequest, "restart" | "stop_timeout" | "autostop" | "autostart"> {
  const restart = given({
    policy: flags.restart,
    max_retries: flags.maxRetries === UNLIMITED ? null : flags.maxRetries,
    disk: flags.restartDisk,
  });
  return {
    ...given({
      stop_timeout: flags.stopTimeout,
      autostop: autostopOf(flags),
      autostart: flags.autostart,
    }),
    ...(Object.keys(restart).length === 0 ? {} : { restart }),
  };
}

function autostopOf({ autostop }: PolicyFlags): MachineUpdateRequest["autostop"] {
  if (autostop === false) return null;
  return autostop === undefined ? undefined : { idle: autostop };
}
