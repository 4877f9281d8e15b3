// `skerry machine update`.

import type { Machine, MachineUpdateRequest } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addEnvFlags, envOf, type EnvFlags } from "../vms/env-flags.ts";
import { addExamples, collectText, given } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { addNamingFlags, changesOf, orNull, refuseNoChange, type NamingFlags } from "../vms/change-flags.ts";
import { idArgument, machineNoun } from "../vms/vm-noun.ts";
import { addCheckFlags, checkRequest, type CheckFlags } from "./check-flags.ts";
import { addPolicyFlags, policyRequest, type PolicyFlags } from "./policy-flags.ts";

interface UpdateFlags extends NamingFlags, PolicyFlags, EnvFlags, CheckFlags {
  readonly check?: false;
  readonly unsetEnv?: readonly string[];
  readonly command?: string | false;
  readonly size?: string;
  readonly restartNow?: boolean;
  readonly json?: boolean;
}

export function registerMachineUpdate(machine: Command, cli: Cli): void {
  const command = addNamingFlags(
    machine
      .command("update")
      .description(
        "Change a machine. Its environment, its command and its size wait until it is started next; the rest is changed at once.",
      )
      .argument("<id>", idArgument(machineNoun)),
  );
  addEnvFlags(command, "environment variable to set")
    .option("--unset-env <KEY>", "environment variable to remove; repeatable", collectText)
    .option("--command <line>", "shell command line of its main process")
    .option("--no-command", "run no main process")
    .option("--size <name>", "CPUs and memory; see `skerry size list`");
  addPolicyFlags(command);
  addCheckFlags(command);
  command
    .option("--no-check", "remove its health check")
    .option("--restart-now", "restart it where something waits for its next start")
    .option("--json", "print the machine as JSON")
    .action((text: string, flags: UpdateFlags, self: Command) => updateMachine(cli, { text, flags, self }));
  addExamples(
    command,
    "skerry machine update web --env LOG=debug --unset-env OLD --restart-now",
    "skerry machine update web --size shared-cpu-2x && skerry machine restart web",
    "skerry machine update web --check-command 'pg_isready -q' --check-interval 30s",
    "skerry machine update web --name shop --metadata team=b --restart always",
  );
}

interface Updating {
  readonly text: string;
  readonly flags: UpdateFlags;
  readonly self: Command;
}

async function updateMachine(cli: Cli, { text, flags, self }: Updating): Promise<void> {
  const changes = updateRequest(flags, await envOf(flags));
  refuseNoChange(changes);
  const client = await cli.client(self);
  const found = await onTarget(machineNoun.target(client, cli.signal, "update"), text, (id) =>
    cli.waits.during(`Changing ${text}`, () => client.machines.update(id, changes, { signal: cli.signal })),
  );
  if (flags.json === true) return cli.output.json(found);
  await cli.output.line(`${found.id} ${found.status}`);
  const waiting = waitingText(found);
  if (waiting !== undefined) await cli.output.note(waiting);
}

function updateRequest(
  flags: UpdateFlags,
  env: Readonly<Record<string, string>> | undefined,
): MachineUpdateRequest {
  const { size, restartNow: restart_now } = flags;
  return {
    ...given({
      ...{ size, restart_now },
      name: orNull(flags.name),
      command: orNull(flags.command),
      metadata: changesOf(flags.metadata, flags.unsetMetadata),
      env: changesOf(env, flags.unsetEnv),
      check: checkChange(flags),
    }),
    ...policyRequest(flags),
  };
}

/** Without `--no-check` commander sets `check` to true. */
function checkChange(flags: UpdateFlags): MachineUpdateRequest["check"] {
  return flags.check === false ? null : checkRequest(flags);
}

function waitingText({ id, pending }: Machine): string | undefined {
  if (pending === null) return undefined;
  const names = Object.keys(pending).join(", ");
  return `Not in effect until it is started next: ${names}. \`skerry machine restart ${id}\` does that now.`;
}
