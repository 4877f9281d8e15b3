// `skerry move`: VMs on their way from one host to another, for the operator.

import type { Move } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { addListCommand } from "../resources/resource-commands.ts";

export function registerMoveCommands(program: Command, cli: Cli): void {
  const group = program
    .command("move")
    .description("VMs on their way from one host to another, for the operator.");
  addListCommand<Move>(group, cli, {
    description: "List the moves under way, and those that ended within a day, newest first.",
    examples: [
      "skerry move list",
      "skerry move list --watch",
      "skerry move list --host hst_01jd3... --status failed",
    ],
    operation: "listMoves",
    read: ({ moves }, query, options) => moves.page(query, options),
    columns: [
      ["ID", ({ id }) => id],
      ["VM", (move) => move.vm_id],
      ["STATUS", ({ status }) => status],
      ["SINCE", (move) => relativeTime(move.status_since)],
      ["FROM", (move) => move.from_host_id],
      ["TO", (move) => move.to_host_id],
      ["WHY", ({ reason }) => reason ?? "-"],
    ],
    layout: { whole: [2, 3], minor: [0] },
    hasLimit: true,
    watched: ["move"],
  });
}
