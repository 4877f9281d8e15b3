// `skerry sandbox executions` and `kill`: the commands that run by themselves.

import { executionSignalNames, executionSignals } from "@skerry/contract/vms/execution-signals";
import type { Execution, ExecutionSignal } from "@skerry/sdk";
import { InvalidArgumentError, Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { onTarget } from "../../targets.ts";
import { executionTarget, EXECUTIONS_MAX } from "./execution-target.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";

export function registerVmExecutions(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id } = vm;
  const command = parent
    .command("executions")
    .description(`List the commands of a ${noun} that run or have run, newest first.`)
    .argument("<id>", idArgument(vm))
    .option("--json", "print JSON, as the API has it, with times in UTC")
    .action(async (text: string, flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const page = await onTarget(vm.target(client, cli.signal), text, (target) =>
        vm.calls(client).listExecutions(target, { limit: EXECUTIONS_MAX }, { signal: cli.signal }),
      );
      if (flags.json === true) return cli.output.json(page);
      await cli.output.table(
        ["ID", "STATUS", "EXIT", "STARTED", "OUTPUT", "COMMAND"],
        page.items.map((one) => [one.id, one.status, exitText(one), ...timesOf(one), one.command]),
        { whole: [0, 1] },
      );
    });
  addExamples(command, `skerry ${noun} executions ${id}`);
}

/** As lists show it: its status, the signal that ended it, or that its time was over. */
export function exitText({ exit }: Pick<Execution, "exit">): string {
  if (exit === null) return "-";
  return exit.timed_out ? "timeout" : (exit.signal ?? String(exit.exit_code));
}

function timesOf({ started_at, position }: Execution): [string, string] {
  return [relativeTime(started_at), `${position} B`];
}

interface KillFlags {
  readonly signal: ExecutionSignal;
}

function signalName(text: string): ExecutionSignal {
  const found = executionSignalNames.find((name) => name === text.toUpperCase());
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`Write one of ${Object.keys(executionSignals).join(", ")}.`);
}

export function registerVmKill(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id: example } = vm;
  const command = parent
    .command("kill")
    .description(`Send a signal to an execution of a ${noun}.`)
    .argument("<id>", idArgument(vm))
    .argument("<execution>", "id of the execution, or the beginning of it")
    .addOption(
      new Option("-s, --signal <name>", "such as INT or SIGINT; KILL ends all that the command has started")
        .choices(Object.keys(executionSignals))
        .argParser(signalName)
        .default("TERM"),
    )
    .action(async (text: string, execution: string, flags: KillFlags, self: Command) => {
      const client = await cli.client(self);
      const vms = vm.calls(client);
      const options = { signal: cli.signal };
      await onTarget(vm.target(client, cli.signal), text, (id) =>
        onTarget(executionTarget(vm, vms, id, cli.signal), execution, (target) =>
          vms.killExecution(id, target, flags.signal, options),
        ),
      );
    });
  addExamples(
    command,
    `skerry ${noun} kill ${example} exe_01jd3...`,
    `skerry ${noun} kill ${example} exe_01jd3... --signal INT`,
  );
}
