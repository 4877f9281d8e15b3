// `skerry runs`: what `skerry run` leaves behind when its sandbox is gone.

import type { KeptExecution, Skerry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../input/options.ts";
import { relativeTime } from "../output/relative-times.ts";
import { onTarget, type TargetKind } from "../targets.ts";
import { addDeedCommand, addListCommand } from "./resources/resource-commands.ts";
import { followKeptOutput, writeKeptOutput } from "./vms/kept-output.ts";
import { exitText } from "./vms/vm-executions.ts";

export function registerRuns(program: Command, cli: Cli): void {
  const runs = program
    .command("runs")
    .description("Commands of `skerry run`, and their output: while they run, and for a day afterwards.");
  addExamples(runs, "skerry runs list", "skerry runs logs exe_01jd3...");
  registerList(runs, cli);
  registerShow(runs, cli);
  registerLogs(runs, cli);
}

function registerList(runs: Command, cli: Cli): void {
  addListCommand<KeptExecution>(runs, cli, {
    description: "List them, newest first.",
    examples: ["skerry runs", "skerry runs list --json | jq -r '.items[].id'"],
    isDefault: true,
    read: ({ executions }, _query, options) => executions.list(options),
    columns: [
      ["ID", ({ id }) => id],
      ["STATUS", ({ status }) => status],
      ["EXIT", exitText],
      ["STARTED", (one) => relativeTime(one.started_at)],
      ["OUTPUT", (one) => (one.status === "running" ? "-" : `${one.output_bytes} B`)],
      ["COMMAND", ({ command }) => command],
    ],
    layout: { whole: [0, 1] },
  });
}

function registerShow(runs: Command, cli: Cli): void {
  addDeedCommand(runs, cli, {
    name: "show",
    description: "Show one, without its output; with --json with its output.",
    examples: ["skerry runs show exe_01jd3..."],
    argument: ["<id>", "id of its execution, or the beginning of it"],
    target: runTarget,
    act: ({ executions }, id, options) => executions.get(id, options),
    print: (one) =>
      cli.output.fields([
        ["id", one.id],
        ["command", one.command],
        ["status", one.status],
        ["exit", exitText(one)],
        ["reason", one.reason ?? "-"],
        ["sandbox", one.sandbox_id],
        ["output", `${one.output_bytes} B`],
        ["started", relativeTime(one.started_at)],
        ["ended", one.ended_at === null ? "-" : relativeTime(one.ended_at)],
      ]),
  });
}

function registerLogs(runs: Command, cli: Cli): void {
  const logs = runs
    .command("logs")
    .description("Write its output: the last 1 MiB, to standard output and standard error as it came there.")
    .argument("<id>", "id of its execution, or the beginning of it")
    .option("-f, --follow", "go on while it runs, and exit with its code as `skerry run` does")
    .action(async (text: string, { follow = false }: { readonly follow?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const write = follow ? followKeptOutput : writeKeptOutput;
      await onTarget(runTarget(client, cli.signal), text, (id) => write(cli, client, id));
    });
  addExamples(
    logs,
    "skerry runs logs exe_01jd3...",
    "skerry runs logs --follow exe_01jd3...",
    "skerry runs logs exe_01jd3... 2>&1 | less",
  );
}

function runTarget(client: Skerry, signal: AbortSignal): TargetKind {
  return {
    kind: "execution",
    noun: "run",
    listCommand: "runs list",
    async *list() {
      for await (const { id } of client.executions.list({ signal })) yield { id, name: null };
    },
  };
}
