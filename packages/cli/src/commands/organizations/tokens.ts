// `skerry auth token`: API tokens of the organization.

import { scopes } from "@skerry/contract/organizations/scopes";
import type { Scope, Token } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, given } from "../../input/options.ts";
import { idMeant } from "../../targets.ts";
import { addDeedCommand, addListCommand } from "../resources/resource-commands.ts";
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
  addListCommand<Token>(token, cli, {
    description: "List your tokens, or everybody's where you are an admin, without their secrets.",
    examples: ["skerry auth token list", "skerry auth token list --json | jq -r '.items[].id'"],
    read: ({ tokens }, _query, options) => tokens.list(options),
    columns: [
      ["ID", ({ id }) => id],
      ["NAME", ({ name }) => name],
      ["USER", (one) => one.user_id],
      ["SCOPES", ({ scopes: granted }) => granted.join(" ")],
      ["CREATED", (one) => one.created_at],
      ["EXPIRES", (one) => expiryText(one.expires_at)],
      ["LAST USED", (one) => one.last_used_at ?? "never"],
    ],
    layout: { prose: [3], minor: [4, 3, 2] },
  });
}

function registerRevoke(token: Command, cli: Cli): void {
  addDeedCommand(token, cli, {
    name: "revoke",
    withoutJson: true,
    description: "End a token at once.",
    examples: ["skerry auth token revoke tok_01jd3..."],
    argument: ["<id>", TOKEN_ARGUMENT],
    target: tokenTarget,
    act: async ({ tokens }, id, options) => {
      await tokens.revoke(id, options);
      return { id };
    },
    print: ({ id }) => cli.output.note(`${id} is revoked.`),
  });
}

function validity({ expires_at }: Pick<Token, "expires_at">): string {
  return expires_at === null ? "valid until revoked" : `valid until ${expires_at}`;
}

/** Expired ones are listed until they are revoked, and do nothing. */
function expiryText(expiresAt: string | null): string {
  if (expiresAt === null) return "never";
  return Date.parse(expiresAt) <= Date.now() ? `${expiresAt} (expired)` : expiresAt;
}
