// `skerry runs`: what `skerry run` leaves behind when its sandbox is gone.

import type { KeptExecution } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../input/options.ts";
import { relativeTime } from "../output/relative-times.ts";
import { onTarget, type TargetKind } from "../targets.ts";
import { followKeptOutput, writeKeptOutput } from "./vms/kept-output.ts";
import { exitText } from "./vms/vm-executions.ts";

interface Flags {
  readonly json?: boolean;
}

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
  const list = runs
    .command("list", { isDefault: true })
    .description("List them, newest first.")
    .option("--json", "print JSON")
    .action(async (flags: Flags, self: Command) => {
      const client = await cli.client(self);
      const items: KeptExecution[] = [];
      for await (const one of client.executions.list({ signal: cli.signal })) items.push(one);
      if (flags.json === true) return cli.output.json({ items, next_cursor: null });
      await cli.output.table(
        ["ID", "STATUS", "EXIT", "STARTED", "OUTPUT", "COMMAND"],
        items.map((one) => [
          ...[one.id, one.status, exitText(one), relativeTime(one.started_at)],
          ...[one.status === "running" ? "-" : `${one.output_bytes} B`, one.command],
        ]),
        { whole: [0, 1] },
      );
    });
  addExamples(list, "skerry runs", "skerry runs list --json | jq -r '.items[].id'");
}

function registerShow(runs: Command, cli: Cli): void {
  const show = runs
    .command("show")
    .description("Show one, without its output.")
    .argument("<id>", "id of its execution, or the beginning of it")
    .option("--json", "print JSON, with its output")
    .action(async (text: string, flags: Flags, self: Command) => {
      const client = await cli.client(self);
      const get = (id: string) => client.executions.get(id, { signal: cli.signal });
      const one = await onTarget(runTarget(cli, client), text, get);
      if (flags.json === true) return cli.output.json(one);
      await cli.output.fields([
        ["id", one.id],
        ["command", one.command],
        ["status", one.status],
        ["exit", exitText(one)],
        ["reason", one.reason ?? "-"],
        ["sandbox", one.sandbox_id],
        ["output", `${one.output_bytes} B`],
        ["started", relativeTime(one.started_at)],
        ["ended", one.ended_at === null ? "-" : relativeTime(one.ended_at)],
      ]);
    });
  addExamples(show, "skerry runs show exe_01jd3...");
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
      await onTarget(runTarget(cli, client), text, (id) => write(cli, client, id));
    });
  addExamples(
    logs,
    "skerry runs logs exe_01jd3...",
    "skerry runs logs --follow exe_01jd3...",
    "skerry runs logs exe_01jd3... 2>&1 | less",
  );
}

function runTarget({ signal }: Cli, client: Awaited<ReturnType<Cli["client"]>>): TargetKind {
  return {
    kind: "execution",
    noun: "run",
    listCommand: "runs list",
    async *list() {
      for await (const { id } of client.executions.list({ signal })) yield { id, name: null };
    },
  };
}
