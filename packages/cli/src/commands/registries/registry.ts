// `skerry registry`: what builds log in to registries of images with.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { readSecret } from "../../input/read-secret.ts";

interface JsonFlag {
  readonly json?: boolean;
}

export function registerRegistryCommands(program: Command, cli: Cli): void {
  const registries = program.command("registry").description("What builds log in to registries with.");
  registerLogin(registries, cli);

  const list = registries
    .command("list")
    .description("List the registries that the organization has credentials for.")
    .option("--json", "print JSON")
    .action(async (flags: JsonFlag, self: Command) => {
      const client = await cli.client(self);
      const items = await client.registries.list({ signal: cli.signal });
      if (flags.json === true) return cli.output.json({ items });
      await cli.output.table(
        ["REGISTRY", "USERNAME", "SET"],
        items.map(({ host, username, set_at }) => [host, username, set_at]),
      );
    });
  addExamples(list, "skerry registry list");

  const logout = registries
    .command("logout")
    .description("Delete the credentials of a registry.")
    .argument("<registry>", "the registry, as references to images name it")
    .action(async (host: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      await client.registries.delete(host.toLowerCase(), { signal: cli.signal });
      await cli.output.line(`${host} logged out`);
    });
  addExamples(logout, "skerry registry logout registry.example.com");
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
