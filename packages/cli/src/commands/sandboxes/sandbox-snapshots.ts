// `skerry sandbox snapshot`, `fork` and `rollback`, and `skerry snapshot`.

import type { Snapshot } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, given, wholeNumber } from "../../options.ts";
import { relativeTime } from "../../relative-times.ts";
import { onTarget } from "../../targets.ts";
import { forEach } from "../vms/vm-list.ts";
import { idArgument, sandboxNoun } from "../vms/vm-noun.ts";

interface JsonFlag {
  readonly json?: boolean;
}

const FORKS_MAX = 100;

export function registerSandboxSnapshots(sandbox: Command, cli: Cli): void {
  registerTake(sandbox, cli);
  registerFork(sandbox, cli);
  registerRollback(sandbox, cli);
}

function registerTake(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("snapshot")
    .description("Take a snapshot of a sandbox's memory and disk, and print its id. The sandbox goes on.")
    .argument("<id>", idArgument(sandboxNoun))
    .option("--name <name>", "a name that commands take in the place of the id")
    .option("--json", "print the snapshot as JSON")
    .action(async (text: string, flags: JsonFlag & { readonly name?: string }, self: Command) => {
      const client = await cli.client(self);
      const options = { signal: cli.signal, ...given({ name: flags.name }) };
      const taken = await onTarget(sandboxNoun.target(client, cli.signal), text, (id) =>
        cli.waits.during(`Taking a snapshot of ${text}`, () => client.sandboxes.snapshot(id, options)),
      );
      if (flags.json === true) return cli.output.json(taken);
      await cli.output.line(taken.id);
    });
  addExamples(command, "skerry sandbox snapshot sbx_01jd3... --name ready");
}

function registerFork(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("fork")
    .description(
      "Make sandboxes that go on from a sandbox's memory and disk as they are now; print their ids.",
    )
    .argument("<id>", idArgument(sandboxNoun))
    .option("--count <number>", `how many, at most ${FORKS_MAX} (default: 1)`, (text) =>
      wholeNumber(text, FORKS_MAX),
    )
    .option("--json", "print the sandboxes as JSON")
    .action(async (text: string, flags: JsonFlag & { readonly count?: number }, self: Command) => {
      const client = await cli.client(self);
      const forks = await onTarget(sandboxNoun.target(client, cli.signal), text, (id) =>
        cli.waits.during(`Forking ${text}`, () =>
          client.sandboxes.fork(id, flags.count ?? 1, { signal: cli.signal }),
        ),
      );
      if (flags.json === true) return cli.output.json({ items: forks });
      for (const fork of forks) await cli.output.line(fork.id);
    });
  addExamples(command, "skerry sandbox fork sbx_01jd3... --count 3");
}

function registerRollback(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("rollback")
    .description("Have a sandbox go on from a snapshot; what it was until then is lost.")
    .argument("<id>", idArgument(sandboxNoun))
    .argument("<snapshot>", "id or name of a snapshot of the same template and size")
    .option("--json", "print the sandbox as JSON")
    .action(async (text: string, snapshot: string, flags: JsonFlag, self: Command) => {
      const client = await cli.client(self);
      const { info } = await onTarget(sandboxNoun.target(client, cli.signal), text, (id) =>
        cli.waits.during(`Rolling ${text} back`, () =>
          client.sandboxes.rollback(id, snapshot, { signal: cli.signal }),
        ),
      );
      if (flags.json === true) return cli.output.json(info);
      await cli.output.line(`${info.id} ${info.status}`);
    });
  addExamples(command, "skerry sandbox rollback sbx_01jd3... ready");
}

export function registerSnapshotCommands(program: Command, cli: Cli): void {
  const snapshot = program
    .command("snapshot")
    .description("Snapshots of sandboxes, to begin at and to go back to.");
  addExamples(snapshot, "skerry snapshot list", "skerry sandbox create --snapshot ready");
  const list = snapshot
    .command("list")
    .description("List the snapshots, newest first.")
    .option("--json", "print JSON")
    .action(async (flags: JsonFlag, self: Command) => {
      const client = await cli.client(self);
      const items: Snapshot[] = [];
      for await (const one of client.snapshots.list({ signal: cli.signal })) items.push(one);
      if (flags.json === true) return cli.output.json({ items, next_cursor: null });
      await cli.output.table(
        ["ID", "NAME", "SANDBOX", "TEMPLATE", "SIZE", "STATUS", "CREATED"],
        items.map((one) => [
          one.id,
          one.name ?? "-",
          one.sandbox_id,
          one.template,
          one.size,
          one.status,
          relativeTime(one.created_at),
        ]),
      );
    });
  addExamples(list, "skerry snapshot list --json | jq -r '.items[].id'");
  const get = snapshot
    .command("get")
    .description("Show a snapshot, as JSON.")
    .argument("<id>", "id or name of a snapshot")
    .action(async (id: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      await cli.output.json(await client.snapshots.get(id, { signal: cli.signal }));
    });
  addExamples(get, "skerry snapshot get ready");
  const remove = snapshot
    .command("delete")
    .description("Delete snapshots; what was made of them stays.")
    .argument("<id...>", "ids or names of snapshots")
    .action(async (ids: readonly string[], _flags: object, self: Command) => {
      const client = await cli.client(self);
      await forEach(cli, ids, async (id) => {
        await client.snapshots.delete(id, { signal: cli.signal });
        await cli.output.line(`${id} deleted`);
      });
    });
  addExamples(remove, "skerry snapshot delete ready");
}
