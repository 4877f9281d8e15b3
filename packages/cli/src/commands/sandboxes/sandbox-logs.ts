// `skerry sandbox logs`. A sandbox has no main process: its log is what its commands have printed, those that
// its microVM still knows and, of one that is gone, those that were kept.

import type { Execution, KeptExecution, Skerry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { onTarget } from "../../targets.ts";
import { CliError } from "../../errors/errors.ts";
import { EXECUTIONS_MAX } from "../vms/execution-target.ts";
import { withoutDropped, writeKeptOutput } from "../vms/kept-output.ts";
import { exitText } from "../vms/vm-executions.ts";
import { idArgument, sandboxNoun } from "../vms/vm-noun.ts";

export function registerSandboxLogs(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("logs")
    .description("Write what the commands of a sandbox have printed, the oldest first; `attach` follows one.")
    .argument("<id>", idArgument(sandboxNoun))
    .action(async (text: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      await onTarget(sandboxNoun.target(client, cli.signal), text, (id) => showSandboxLog(cli, client, id));
    });
  addExamples(command, "skerry sandbox logs sbx_01jd3...", "skerry sandbox logs web > all.log");
}

/** Which command it is goes to standard error, so that standard output has the bytes alone. */
export async function showSandboxLog(cli: Cli, client: Skerry, id: string): Promise<void> {
  const { status } = (await client.sandboxes.get(id, { signal: cli.signal })).info;
  if (status === "destroyed" || status === "failed") return showKept(cli, client, id);
  const { items } = await client.sandboxes.listExecutions(
    id,
    { limit: EXECUTIONS_MAX },
    { signal: cli.signal },
  );
  for (const execution of items.toReversed()) {
    await title(cli, execution);
    await showExecution(cli, client, { id, execution });
  }
}

function title(cli: Cli, { id, started_at, exit, command }: Execution | KeptExecution): Promise<void> {
  return cli.output.note(`== ${id}, ${relativeTime(started_at)}, exit ${exitText({ exit })}: ${command}`);
}

/** Writes what it had printed when it was listed, also of one that runs on. */
async function showExecution(
  cli: Cli,
  client: Skerry,
  { id, execution }: { readonly id: string; readonly execution: Execution },
): Promise<void> {
  if (execution.position === 0) return;
  const events = client.sandboxes.followExecution(id, execution.id, { signal: cli.signal });
  for await (const event of withoutDropped(cli, events)) {
    if (event.type !== "exit") await cli.output.bytes(event.type, event.data);
    if (event.position >= execution.position) return;
  }
}

async function showKept(cli: Cli, client: Skerry, sandbox: string): Promise<void> {
  const kept: KeptExecution[] = [];
  for await (const one of client.executions.list({ signal: cli.signal }))
    if (one.sandbox_id === sandbox) kept.push(one);
  if (kept.length === 0)
    throw new CliError("no_log", "The sandbox is gone, and what its commands printed went with it.", {
      remediation: "What `skerry run` prints is kept for a day: `skerry runs` lists it.",
    });
  for (const one of kept.toReversed()) {
    await title(cli, one);
    await writeKeptOutput(cli, client, one.id);
  }
}
