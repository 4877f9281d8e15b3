// `skerry machine logs`. What a guest prints is printed here without what could take over the reader's terminal.

import { CONSOLE_LINES_MAX } from "@skerry/contract/bounds";
import type { Skerry } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, wholeNumber } from "../../options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, machineNoun } from "../vms/vm-noun.ts";

export interface LogFlags {
  readonly lines?: number;
  readonly follow?: boolean;
  readonly json?: boolean;
}

export function registerMachineLogs(machine: Command, cli: Cli): void {
  const command = addLogFlags(
    machine
      .command("logs")
      .description("Show the console of a machine: what its main process and its kernel have printed.")
      .argument("<id>", idArgument(machineNoun)),
  ).action(async (text: string, flags: LogFlags, self: Command) => {
    const client = await cli.client(self);
    await onTarget(machineNoun.target(client, cli.signal), text, (id) =>
      showLogs(cli, { client, id, flags }),
    );
  });
  addExamples(
    command,
    "skerry machine logs mch_01jd3...",
    "skerry machine logs web --lines 1000 --follow",
    "skerry machine logs mch_01jd3... --json | jq -r '.lines[]'",
  );
}

export function addLogFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--lines <count>",
        `how many of the last lines, 1 to ${CONSOLE_LINES_MAX} (default: 100)`,
      ).argParser((text: string) => wholeNumber(text, CONSOLE_LINES_MAX)),
    )
    .option("-f, --follow", "go on with what comes then, until the machine is destroyed")
    .option("--json", "print JSON, with the lines exactly as they are; with --follow one string a line");
}

export async function showLogs(
  cli: Cli,
  { client, id, flags }: { readonly client: Skerry; readonly id: string; readonly flags: LogFlags },
): Promise<void> {
  const { machines } = client;
  const options = { lines: flags.lines, signal: cli.signal };
  if (flags.follow === true) {
    for await (const line of machines.followLogs(id, options)) {
      await (flags.json === true ? cli.output.jsonLine(line) : cli.output.line(withTabs(line)));
    }
    return;
  }
  const lines = await machines.logs(id, options);
  if (flags.json === true) return cli.output.json({ lines });
  for (const line of lines) await cli.output.line(withTabs(line));
}

const TAB_WIDTH = 8;

/** Tabs are no attack, and `Output` would show them as one. */
function withTabs(line: string): string {
  return line.replaceAll("\t", " ".repeat(TAB_WIDTH));
}
