// `skerry auth token`: API tokens of the organization.

import { scopes } from "@skerry/contract/organizations/scopes";
import type { Scope, Token } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, given } from "../../input/options.ts";
import { idMeant, onTarget } from "../../targets.ts";
import { here, MEMBER_ARGUMENT, memberTarget, TOKEN_ARGUMENT, tokenTarget } from "./organization-targets.ts";

export function registerTokenCommands(auth: Command, cli: Cli): void {
  const token = auth.command("token").description("API tokens; alone, it mints one.");
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
  readonly scope?: Scope[];
  readonly bound?: boolean;
  readonly user?: string;
  readonly json?: boolean;
}

function registerCreate(token: Command, cli: Cli): void {
  const command = token
    .command("create", { isDefault: true })
    .description("Mint a token and print its secret, which is shown this once.")
    .option("--name <name>", "what the token is for")
    .option("--expires-in <duration>", "lifetime, such as 24h (default: until revoked)")
    .addOption(
      new Option("--scope <scope...>", "what it may do (default: what your own token may)").choices(scopes),
    )
    .option("--bound", "it works in this organization only")
    .option("--user <user>", `as an admin, for another member who has lost theirs: ${MEMBER_ARGUMENT}`)
    .option("--json", "print the whole answer as JSON")
    .action(async (flags: CreateFlags, self: Command) => {
      const client = await cli.client(self);
      const { name, expiresIn, scope, bound, user } = flags;
      const userId =
        user === undefined
          ? undefined
          : await idMeant(memberTarget(client, await here(client, cli.signal), cli.signal), user);
      const request = given({ name, expires_in: expiresIn, scopes: scope, bound, user_id: userId });
      const created = await client.tokens.create(request, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(created);
      await cli.output.line(created.token);
      const whose = userId === undefined ? "" : ` of ${userId}`;
      await cli.output.note(
        `${created.id} (${created.name})${whose}, ${validity(created)}; it is not shown again.`,
      );
    });
  addExamples(
    command,
    "skerry auth token",
    "skerry auth token create --user Ada > ada.token",
    "SKERRY_API_TOKEN=$(skerry auth token create --name ci --expires-in 24h --scope sandboxes:read sandboxes:write)",
  );
}

function registerList(token: Command, cli: Cli): void {
  const command = token
    .command("list")
    .description("List your tokens, or everybody's where you are an admin, without their secrets.")
    .option("--json", "print JSON")
    .action(async (flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const items: Token[] = [];
      for await (const item of client.tokens.list({ signal: cli.signal })) items.push(item);
      if (flags.json === true) return cli.output.json({ items, next_cursor: null });
      await cli.output.table(
        ["ID", "NAME", "USER", "SCOPES", "CREATED", "EXPIRES", "LAST USED"],
        items.map(({ id, name, user_id, scopes: granted, created_at, expires_at, last_used_at }) => [
          id,
          name,
          user_id,
          granted.join(" "),
          created_at,
          expiryText(expires_at),
          last_used_at ?? "never",
        ]),
        { prose: [3], minor: [4, 3, 2] },
      );
    });
  addExamples(command, "skerry auth token list", "skerry auth token list --json | jq -r '.items[].id'");
}

function registerRevoke(token: Command, cli: Cli): void {
  const command = token
    .command("revoke")
    .description("End a token at once.")
    .argument("<id>", TOKEN_ARGUMENT)
    .action(async (text: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      await onTarget(tokenTarget(client, cli.signal), text, async (id) => {
        await client.tokens.revoke(id, { signal: cli.signal });
        await cli.output.note(`${id} is revoked.`);
      });
    });
  addExamples(command, "skerry auth token revoke tok_01jd3...");
}

function validity({ expires_at }: Pick<Token, "expires_at">): string {
  return expires_at === null ? "valid until revoked" : `valid until ${expires_at}`;
}

/** Expired ones are listed until they are revoked, and do nothing. */
function expiryText(expiresAt: string | null): string {
  if (expiresAt === null) return "never";
  return Date.parse(expiresAt) <= Date.now() ? `${expiresAt} (expired)` : expiresAt;
}
