// `skerry snapshot`.

import type { Snapshot } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, given } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { forEach } from "../vms/vm-list.ts";

export function registerSnapshotCommands(program: Command, cli: Cli): void {
  const snapshot = program
    .command("snapshot")
    .description("Snapshots of sandboxes and machines, to begin at and to go back to.");
  addExamples(snapshot, "skerry snapshot list", "skerry sandbox create --snapshot ready");
  registerList(snapshot, cli);
  registerGet(snapshot, cli);
  registerDelete(snapshot, cli);
}

interface ListFlags {
  readonly json?: boolean;
  readonly of?: "sandbox" | "machine";
}

function registerList(snapshot: Command, cli: Cli): void {
  const list = snapshot
    .command("list")
    .description("List the snapshots, newest first.")
    .addOption(
      new Option("--of <what>", "only those of sandboxes, or of machines").choices(["sandbox", "machine"]),
    )
    .option("--json", "print JSON")
    .action(async (flags: ListFlags, self: Command) => {
      const client = await cli.client(self);
      const items: Snapshot[] = [];
      const found = client.snapshots.list(given({ of: flags.of }), { signal: cli.signal });
      for await (const one of found) items.push(one);
      if (flags.json === true) return cli.output.json({ items, next_cursor: null });
      await cli.output.table(
        ["ID", "NAME", "OF", "TEMPLATE", "SIZE", "STATUS", "CREATED"],
        items.map((one) => [
          one.id,
          one.name ?? "-",
          one.machine_id ?? one.sandbox_id ?? "-",
          one.template,
          one.size,
          one.status,
          relativeTime(one.created_at),
        ]),
        { whole: [5, 6], minor: [4, 3, 2], spare: [6] },
      );
    });
  addExamples(list, "skerry snapshot list --of machine", "skerry snapshot list --json | jq -r '.items[].id'");
}

function registerGet(snapshot: Command, cli: Cli): void {
  const get = snapshot
    .command("get")
    .description("Show a snapshot, as JSON.")
    .argument("<id>", "id or name of a snapshot")
    .action(async (id: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      await cli.output.json(await client.snapshots.get(id, { signal: cli.signal }));
    });
  addExamples(get, "skerry snapshot get ready");
}

function registerDelete(snapshot: Command, cli: Cli): void {
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
