// `skerry machine logs`. What a guest prints is printed here without what could take over the reader's terminal.

import { CONSOLE_LINES_MAX } from "@skerry/contract/bounds";
import type { Skerry } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, wholeNumber } from "../../input/options.ts";
import { timeMeant } from "../../output/relative-times.ts";
import { onTarget } from "../../targets.ts";
import { forEach } from "../vms/vm-list.ts";
import { machineNoun } from "../vms/vm-noun.ts";

export interface LogFlags {
  readonly lines?: number;
  readonly follow?: boolean;
  readonly grep?: string;
  readonly since?: string;
  readonly until?: string;
  readonly kernel?: boolean;
  readonly timestamps?: boolean;
  readonly json?: boolean;
}

export function registerMachineLogs(machine: Command, cli: Cli): void {
  const command = addLogFlags(
    machine
      .command("logs")
      .description(
        "Show what the main processes of machines have printed, and with --kernel their kernels too.",
      )
      .argument("<id...>", "ids of machines, beginnings of them, or names"),
  ).action(async (texts: readonly string[], flags: LogFlags, self: Command) => {
    const client = await cli.client(self);
    const target = machineNoun.target(client, cli.signal);
    await showLogs(cli, { client, texts, flags, onMachine: (text, work) => onTarget(target, text, work) });
  });
  addExamples(
    command,
    "skerry machine logs mch_01jd3...",
    "skerry machine logs web --lines 1000 --follow",
    "skerry machine logs web worker --grep error --since 1h --timestamps",
    "skerry machine logs mch_01jd3... --json | jq -r '.lines[]'",
  );
}

export function addLogFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--lines <count>",
        `how many of the last lines are looked through, 1 to ${CONSOLE_LINES_MAX} (default: 100; with --grep, --since or --until ${CONSOLE_LINES_MAX})`,
      ).argParser((text: string) => wholeNumber(text, CONSOLE_LINES_MAX)),
    )
    .option("--grep <text>", "only lines that contain this text, which is no pattern")
    .option("--since <time>", "only lines at or after it: 1h for an hour ago, or a time in ISO 8601")
    .option("--until <time>", "only lines before it; not with --follow")
    .option("--kernel", "also lines of the kernel, which begin like [    1.234567]")
    .option("-t, --timestamps", "begin each line with its time; a dash where that is not known")
    .option("-f, --follow", "go on with what comes then, until the machine is destroyed")
    .option(
      "--json",
      "print JSON, with the lines exactly as they are; with --follow one string a line; of several machines one object a line",
    );
}

interface ShownLogs {
  readonly client: Skerry;
  /** The machines as the user named them. */
  readonly texts: readonly string[];
  readonly flags: LogFlags;
  /** Runs the work with the id that a text means. */
  readonly onMachine: (text: string, work: (id: string) => Promise<void>) => Promise<void>;
}

/**
 * Prints the log of one machine, or of several with the machine in front of each line: by time, or with
 * --follow as they come. A machine without a log is reported and does not end the others.
 */
export async function showLogs(cli: Cli, { client, texts, flags, onMachine }: ShownLogs): Promise<void> {
  const [first, ...others] = texts;
  if (first === undefined) return;
  if (others.length === 0) return onMachine(first, (id) => showLog(cli, { client, id, flags }));
  const print = ({ machine, line }: LineOf) =>
    flags.json === true
      ? cli.output.jsonLine({ machine, line })
      : cli.output.line(`${machine} | ${withTabs(line)}`);
  const read: TimedLine[] = [];
  const show = (machine: string) =>
    onMachine(machine, async (id) => {
      if (flags.follow !== true)
        return void read.push(...(await timedLinesOf(cli, { client, id, flags, machine })));
      for await (const line of linesOf(cli, { client, id, flags })) await print({ machine, line });
    });
  if (flags.follow === true) return void (await Promise.all(texts.map((text) => forEach(cli, [text], show))));
  await forEach(cli, texts, show);
  for (const line of read.toSorted((one, other) => one.time.localeCompare(other.time))) await print(line);
}

interface LineOf {
  readonly machine: string;
  readonly line: string;
}

interface TimedLine extends LineOf {
  /** In ISO 8601, which sorts as text. */
  readonly time: string;
}

/** A line without a time of its own comes after the one before it. */
async function timedLinesOf(
  cli: Cli,
  { client, id, flags, machine }: ShownLog & { readonly machine: string },
): Promise<TimedLine[]> {
  const texts = await client.machines.logs(id, optionsOf(cli, { ...flags, timestamps: true }));
  let time = "";
  return texts.map((text) => {
    const blank = text.indexOf(" ");
    if (!text.startsWith("- ")) time = text.slice(0, blank);
    return { machine, time, line: flags.timestamps === true ? text : text.slice(blank + 1) };
  });
}

interface ShownLog {
  readonly client: Skerry;
  readonly id: string;
  readonly flags: LogFlags;
}

async function* linesOf(cli: Cli, { client, id, flags }: ShownLog): AsyncGenerator<string, void> {
  const options = optionsOf(cli, flags);
  if (flags.follow === true) yield* client.machines.followLogs(id, options);
  else yield* await client.machines.logs(id, options);
}

function optionsOf(cli: Cli, { lines, grep, since, until, kernel = false, timestamps }: LogFlags) {
  return {
    ...{ lines, grep, kernel, timestamps, signal: cli.signal },
    since: since === undefined ? undefined : timeMeant(since),
    until: until === undefined ? undefined : timeMeant(until),
  };
}

async function showLog(cli: Cli, { client, id, flags }: ShownLog): Promise<void> {
  if (flags.json === true && flags.follow !== true)
    return cli.output.json({ lines: await client.machines.logs(id, optionsOf(cli, flags)) });
  for await (const line of linesOf(cli, { client, id, flags }))
    await (flags.json === true ? cli.output.jsonLine(line) : cli.output.line(withTabs(line)));
}

const TAB_WIDTH = 8;

/** Tabs are no attack, and `Output` would show them as one. */
function withTabs(line: string): string {
  return line.replaceAll("\t", " ".repeat(TAB_WIDTH));
}
