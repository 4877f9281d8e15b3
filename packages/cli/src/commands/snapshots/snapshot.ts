// `skerry snapshot`.

import { snapshotStatuses } from "@skerry/contract/snapshots/snapshot-status";
import type { Snapshot } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { addDeedCommand, addEachCommand, addListCommand } from "../resources/resource-commands.ts";

export function registerSnapshotCommands(program: Command, cli: Cli): void {
  const snapshot = program
    .command("snapshot")
    .description("Snapshots of sandboxes and machines, to begin at and to go back to.");
  addExamples(snapshot, "skerry snapshot list", "skerry sandbox create --snapshot ready");
  addListCommand<Snapshot>(snapshot, cli, {
    description: "List the snapshots, newest first.",
    examples: ["skerry snapshot list --of machine", "skerry snapshot list --json | jq -r '.items[].id'"],
    operation: "listSnapshots",
    read: ({ snapshots }, filter, options) => snapshots.list(filter, options),
    columns: [
      ["ID", ({ id }) => id],
      ["NAME", ({ name }) => name ?? "-"],
      ["OF", (one) => one.machine_id ?? one.sandbox_id ?? "-"],
      ["TEMPLATE", ({ template }) => template],
      ["SIZE", ({ size }) => size],
      ["STATUS", ({ status }) => status],
      ["CREATED", (one) => relativeTime(one.created_at)],
    ],
    layout: { whole: [5, 6], minor: [4, 3, 2], spare: [6] },
  });
  addDeedCommand(snapshot, cli, {
    name: "get",
    withoutJson: true,
    description: "Show a snapshot, as JSON.",
    examples: ["skerry snapshot get ready"],
    argument: ["<id>", "id or name of a snapshot"],
    act: ({ snapshots }, id, options) => snapshots.get(id, options),
    waits: {
      statuses: snapshotStatuses,
      wait: ({ snapshots }, id, until, options) => snapshots.wait(id, until, options),
    },
    print: (one) => cli.output.json(one),
  });
  addEachCommand(snapshot, cli, {
    name: "delete",
    description: "Delete snapshots; what was made of them stays.",
    examples: ["skerry snapshot delete ready"],
    argument: ["<id...>", "ids or names of snapshots"],
    act: async ({ snapshots }, id, options) => {
      await snapshots.delete(id, options);
      return `${id} deleted`;
    },
  });
}
