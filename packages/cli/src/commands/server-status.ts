// `skerry status` of a server elsewhere: what its API tells of it. What runs on this machine is in `local/status.ts`.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { namedApiUrl, readSettings, type Flags } from "../config.ts";
import { countsText } from "../output/counts-text.ts";
import { addExamples } from "../input/options.ts";
import { relativeTime } from "../output/relative-times.ts";

interface JsonFlag {
  readonly json?: boolean;
}

/** For the client alone, which has nothing on this machine to tell of. */
export function registerServerStatus(program: Command, cli: Cli): void {
  const command = program
    .command("status")
    .description("Show what your organization has on the server, and how its hosts are.")
    .option("--json", "print JSON")
    .action((flags: JsonFlag, self: Command) => showServerStatus(cli, flags, self));
  addExamples(command, "skerry status", "skerry status --json | jq .hosts");
}

export async function showServerStatus(cli: Cli, { json }: JsonFlag, self: Command): Promise<void> {
  const client = await cli.client(self);
  const { sandboxes, machines, hosts, last_backup } = await client.status({ signal: cli.signal });
  const server = readSettings(self.optsWithGlobals<Flags>()).apiUrl;
  if (json === true) return cli.output.json({ server, sandboxes, machines, hosts, last_backup });
  await cli.output.fields([
    ["server", server],
    ["sandboxes", countsText(sandboxes)],
    ["machines", String(machines)],
    ["hosts", countsText(hosts)],
    ...(last_backup ? [["last backup", relativeTime(last_backup)] as const] : []),
  ]);
}

/** The address where a flag or the environment names another server than this machine's. What is only saved is no wish for another one. */
export function otherServer(self: Command, localUrl: string): string | undefined {
  const named = namedApiUrl(self.optsWithGlobals<Flags>());
  return named !== undefined && originOf(named) !== originOf(localUrl) ? named : undefined;
}

function originOf(address: string): string {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  if (url.hostname === "localhost") url.hostname = "127.0.0.1";
  return url.origin;
}
