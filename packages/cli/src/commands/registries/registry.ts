// `skerry registry`: what builds log in to registries of images with.

import type { RegistryCredential } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { readSecret } from "../../input/read-secret.ts";
import { addDeedCommand, addListCommand } from "../resources/resource-commands.ts";

interface JsonFlag {
  readonly json?: boolean;
}

export function registerRegistryCommands(program: Command, cli: Cli): void {
  const registries = program.command("registry").description("What builds log in to registries with.");
  registerLogin(registries, cli);

  addListCommand<RegistryCredential>(registries, cli, {
    description: "List the registries that the organization has credentials for.",
    examples: ["skerry registry list"],
    read: (client, _query, options) => client.registries.list(options),
    columns: [
      ["REGISTRY", ({ host }) => host],
      ["USERNAME", ({ username }) => username],
      ["SET", (one) => one.set_at],
    ],
  });
  addDeedCommand(registries, cli, {
    name: "logout",
    withoutJson: true,
    description: "Delete the credentials of a registry.",
    examples: ["skerry registry logout registry.example.com"],
    argument: ["<registry>", "the registry, as references to images name it"],
    act: (client, host, options) => client.registries.delete(host.toLowerCase(), options).then(() => host),
    print: (host) => cli.output.line(`${host} logged out`),
  });
}

interface LoginFlags extends JsonFlag {
  readonly username: string;
}

function registerLogin(registries: Command, cli: Cli): void {
  const login = registries
    .command("login")
    .description(
      "Set what builds of the organization log in to a registry with. The password, or a token, comes from standard input.",
    )
    .argument("<registry>", "the registry, as references to images name it")
    .requiredOption("--username <name>", "the name to log in with")
    .option("--json", "print JSON")
    .action(async (host: string, { username, json }: LoginFlags, self: Command) => {
      const client = await cli.client(self);
      const password = await readSecret("Password", "password");
      const options = { signal: cli.signal };
      const set = await client.registries.set(host.toLowerCase(), { username, password }, options);
      if (json === true) return cli.output.json(set);
      await cli.output.note(`Builds log in to ${set.host} as ${set.username}.`);
    });
  addExamples(
    login,
    "skerry registry login registry.example.com --username builder < password.txt",
    "skerry registry login docker.io --username me",
  );
}
