// `skerry cache`: what steps of builds have left, for the next builds to begin from.

import type { CacheEntry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { addDeedCommand, addListCommand } from "../resources/resource-commands.ts";

const MIB = 1024 ** 2;

export function registerCacheCommands(program: Command, cli: Cli): void {
  const cache = program.command("cache").description("Results of steps, from which the next builds begin.");
  addListCommand<CacheEntry>(cache, cli, {
    description: "List them, newest first.",
    examples: ["skerry cache list", "skerry cache list --json | jq '[.items[].bytes] | add'"],
    read: ({ cache: entries }, _query, options) => entries.list(options),
    columns: [
      ["STEP", ({ name }) => name],
      ["SIZE", ({ bytes }) => mib(bytes)],
      ["LAST USED", (one) => relativeTime(one.last_used_at)],
      ["IN USE", ({ in_use: isUsed }) => (isUsed ? "yes" : "no")],
      ["HOST", (one) => one.host_id],
    ],
    layout: { prose: [0] },
  });
  addDeedCommand(cache, cli, {
    name: "clear",
    description: "Remove all of it but what a build that is under way begins on. Templates stay.",
    examples: ["skerry cache clear"],
    act: ({ cache: entries }, _id, options) => entries.clear(options),
    print: ({ entries, bytes }) => cli.output.line(`${entries} removed, ${mib(bytes)}`),
  });
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
