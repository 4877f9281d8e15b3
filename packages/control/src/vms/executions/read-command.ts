// A command as a request has it, held against what Linux takes.

import { DEFAULT_WORKDIR } from "@skerry/contract/default-workdir";
import type { ExecuteRequest } from "@skerry/contract/vms/execute";
import { checkArgument, checkEnv, checkTogether, RUN_MAX_BYTES } from "../../values/check-env.ts";
import { checkText } from "../../values/check-text.ts";
import { checkPath } from "../../values/paths.ts";

export interface CheckedCommand {
  readonly command: string;
  readonly workdir: string | null;
  readonly env: Readonly<Record<string, string>>;
}

export function readCommand(request: Pick<ExecuteRequest, "command" | "workdir" | "env">): CheckedCommand {
  const command = {
    command: checkText("command", request.command),
    workdir: request.workdir === undefined ? null : checkPath("workdir", request.workdir),
    env: checkEnv(request.env ?? {}, RUN_MAX_BYTES),
  };
  checkArgument(command.command);
  checkTogether(command, RUN_MAX_BYTES);
  return command;
}

export function workdirOf({ workdir }: Pick<ExecuteRequest, "workdir">): string {
  return workdir ?? DEFAULT_WORKDIR;
}
