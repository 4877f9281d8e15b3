// `skerry host authority` and `skerry host rotate-authority`: what control and its hosts are certified by.

import type { Authority } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addDeedCommand } from "../resources/resource-commands.ts";

export function registerAuthorityCommands(host: Command, cli: Cli): void {
  const print = ({ fingerprint, created_at, rotation, waits_for }: Authority) =>
    cli.output.fields([
      ["fingerprint", fingerprint],
      ["created", created_at],
      ["change", rotation],
      ["waits for", waits_for.map(({ name, status }) => `${name} (${status})`).join(", ") || "nothing"],
    ]);
  addDeedCommand(host, cli, {
    name: "authority",
    description: "Show the authority that certifies the hosts, and how far a change of it is.",
    examples: ["skerry host authority"],
    act: ({ hosts }, _id, options) => hosts.authority(options),
    print,
  });
  addDeedCommand(host, cli, {
    name: "rotate-authority",
    description:
      "Change the authority that certifies the hosts for a new one, while they go on. It waits for every host; asked for again, it goes on.",
    examples: ["skerry host rotate-authority", "skerry host rotate-authority --leave-offline"],
    operation: "rotateAuthority",
    act: ({ hosts }, _id, options, wish) => hosts.rotateAuthority(wish, options),
    print,
  });
}
