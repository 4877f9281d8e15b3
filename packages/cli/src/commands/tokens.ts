// `skerry auth token`: API tokens of the organization.

import type { Token } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples, given } from "../options.ts";

export function registerTokenCommands(program: Command, cli: Cli): void {
  const token = program
    .command("auth")
    .description("Access to the API.")
    .command("token")
    .description("API tokens; alone, it mints one.");
  addExamples(
    token,
    "skerry auth token --name ci --expires-in 24h",
    "skerry auth token list",
    "skerry auth token revoke tok_01jd3...",
  );
  registerCreate(token, cli);
  registerList(token, cli);
  registerRevoke(token, cli);
}

interface CreateFlags {
  readonly name?: string;
  readonly expiresIn?: string;
  readonly json?: boolean;
}

function registerCreate(token: Command, cli: Cli): void {
  const command = token
    .command("create", { isDefault: true })
    .description("Mint a token and print its secret, which is shown this once.")
    .option("--name <name>", "what the token is for")
    .option("--expires-in <duration>", "lifetime, such as 24h (default: until revoked)")
    .option("--json", "print the whole answer as JSON")
    .action(async (flags: CreateFlags, self: Command) => {
      const client = await cli.client(self);
      const request = given({ name: flags.name, expires_in: flags.expiresIn });
      const created = await client.tokens.create(request, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(created);
      await cli.output.line(created.token);
      await cli.output.note(`${created.id} (${created.name}), ${validity(created)}; it is not shown again.`);
    });
  addExamples(
    command,
    "skerry auth token",
    "SKERRY_API_TOKEN=$(skerry auth token create --name ci --expires-in 24h)",
  );
}

function registerList(token: Command, cli: Cli): void {
  const command = token
    .command("list")
    .description("List the tokens, without their secrets.")
    .option("--json", "print JSON")
    .action(async (flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const items: Token[] = [];
      for await (const item of client.tokens.list({ signal: cli.signal })) items.push(item);
      if (flags.json === true) return cli.output.json({ items, next_cursor: null });
      await cli.output.table(
        ["ID", "NAME", "CREATED", "EXPIRES", "LAST USED"],
        items.map(({ id, name, created_at, expires_at, last_used_at }) => [
          id,
          name,
          created_at,
          expires_at ?? "never",
          last_used_at ?? "never",
        ]),
      );
    });
  addExamples(command, "skerry auth token list", "skerry auth token list --json | jq -r '.items[].id'");
}

function registerRevoke(token: Command, cli: Cli): void {
  const command = token
    .command("revoke")
    .description("End a token at once.")
    .argument("<id>", "id of the token, tok_...")
    .action(async (id: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      await client.tokens.revoke(id, { signal: cli.signal });
      await cli.output.note(`${id} is revoked.`);
    });
  addExamples(command, "skerry auth token revoke tok_01jd3...");
}

function validity({ expires_at }: Pick<Token, "expires_at">): string {
  return expires_at === null ? "valid until revoked" : `valid until ${expires_at}`;
}
