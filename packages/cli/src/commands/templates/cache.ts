// `skerry cache`: what steps of builds have left, for the next builds to begin from.

import type { CacheEntry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";

const MIB = 1024 ** 2;

export function registerCacheCommands(program: Command, cli: Cli): void {
  const cache = program.command("cache").description("Results of steps, from which the next builds begin.");
  const list = cache
    .command("list")
    .description("List them, newest first.")
    .option("--json", "print JSON")
    .action(async (flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const items: CacheEntry[] = [];
      for await (const one of client.cache.list({ signal: cli.signal })) items.push(one);
      if (flags.json === true) return cli.output.json({ items, next_cursor: null });
      await cli.output.table(
        ["STEP", "SIZE", "LAST USED", "IN USE", "HOST"],
        items.map(({ name, bytes, last_used_at, in_use, host_id }) => [
          name,
          mib(bytes),
          relativeTime(last_used_at),
          in_use ? "yes" : "no",
          host_id,
        ]),
        { prose: [0] },
      );
    });
  addExamples(list, "skerry cache list", "skerry cache list --json | jq '[.items[].bytes] | add'");
  const clear = cache
    .command("clear")
    .description("Remove all of it but what a build that is under way begins on. Templates stay.")
    .option("--json", "print JSON")
    .action(async (flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const cleared = await client.cache.clear({ signal: cli.signal });
      if (flags.json === true) return cli.output.json(cleared);
      await cli.output.line(`${cleared.entries} removed, ${mib(cleared.bytes)}`);
    });
  addExamples(clear, "skerry cache clear");
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
