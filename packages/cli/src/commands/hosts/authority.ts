// `skerry host authority` and `skerry host rotate-authority`: what control and its hosts are certified by.

import type { Command } from "commander";
import type { Authority } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";

interface JsonFlag {
  readonly json?: boolean;
}

export function registerAuthorityCommands(host: Command, cli: Cli): void {
  const show = host
    .command("authority")
    .description("Show the authority that certifies the hosts, and how far a change of it is.")
    .option("--json", "print JSON")
    .action(async (flags: JsonFlag, self: Command) => {
      const client = await cli.client(self);
      await print(cli, await client.hosts.authority({ signal: cli.signal }), flags);
    });
  addExamples(show, "skerry host authority");
  const rotate = host
    .command("rotate-authority")
    .description(
      "Change the authority that certifies the hosts for a new one, while they go on. It waits for every host; asked for again, it goes on.",
    )
    .option("--leave-offline", "do not wait for hosts that are offline; they have to join again")
    .option("--json", "print JSON")
    .action(async (flags: JsonFlag & { readonly leaveOffline?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const wish = flags.leaveOffline === true ? { leave_offline: true } : {};
      await print(cli, await client.hosts.rotateAuthority(wish, { signal: cli.signal }), flags);
    });
  addExamples(rotate, "skerry host rotate-authority", "skerry host rotate-authority --leave-offline");
}

async function print(cli: Cli, authority: Authority, { json }: JsonFlag): Promise<void> {
  if (json === true) return cli.output.json(authority);
  const { fingerprint, created_at, rotation, waits_for } = authority;
  await cli.output.fields([
    ["fingerprint", fingerprint],
    ["created", created_at],
    ["change", rotation],
    ["waits for", waits_for.map(({ name, status }) => `${name} (${status})`).join(", ") || "nothing"],
  ]);
}
