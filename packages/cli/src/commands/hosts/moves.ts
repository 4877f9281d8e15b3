// `skerry move`: VMs on their way from one host to another, for the operator.

import { PAGE_MAX } from "@skerry/contract/bounds";
import { moveStatuses, type MoveStatus } from "@skerry/contract/moves/move-status";
import type { Move } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, given, wholeNumber } from "../../input/options.ts";
import { addWatchFlag, listOrWatch } from "../../watched-list.ts";
import { relativeTime } from "../../output/relative-times.ts";

interface Flags {
  readonly status?: MoveStatus;
  readonly host?: string;
  readonly vm?: string;
  readonly limit?: number;
  readonly watch?: boolean;
  readonly json?: boolean;
}

export function registerMoveCommands(program: Command, cli: Cli): void {
  const command = program
    .command("move")
    .description("VMs on their way from one host to another, for the operator.")
    .command("list")
    .description("List the moves under way, and those that ended within a day, newest first.")
    .addOption(new Option("--status <status>", "only those with it").choices(moveStatuses))
    .option("--host <id>", "only those from it, or to it")
    .option("--vm <id>", "only those of this sandbox, machine or snapshot")
    .addOption(
      new Option("--limit <count>", `how many to list, 1 to ${PAGE_MAX} (default: 50)`).argParser(
        (text: string) => wholeNumber(text, PAGE_MAX),
      ),
    )
    .option("--json", "print JSON, as the API has it")
    .action(async (flags: Flags, self: Command) => {
      const client = await cli.client(self);
      const { json: _json, watch: _watch, ...query } = flags;
      const list = async () => {
        const page = await client.moves.page(given(query), { signal: cli.signal });
        return { json: page, show: () => showMoves(cli, page.items) };
      };
      await listOrWatch(cli, { client, flags, kinds: ["move"], list });
    });
  addWatchFlag(command);
  addExamples(
    command,
    "skerry move list",
    "skerry move list --watch",
    "skerry move list --host hst_01jd3... --status failed",
  );
}

function showMoves(cli: Cli, moves: readonly Move[]): Promise<void> {
  return cli.output.table(
    ["ID", "VM", "STATUS", "SINCE", "FROM", "TO", "WHY"],
    moves.map((move) => [
      ...[move.id, move.vm_id, move.status, relativeTime(move.status_since)],
      ...[move.from_host_id, move.to_host_id, move.reason ?? "-"],
    ]),
    { whole: [2, 3], minor: [0] },
  );
}
