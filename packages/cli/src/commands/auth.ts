// `skerry auth`: which server and token this machine's user works with, and who that is.

import { Skerry, type Me } from "@skerry/sdk";
import { configPath } from "@skerry/sdk/saved-settings";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { readSaved, readSettings, writeConfig, type Flags } from "../config.ts";
import { addExamples, given } from "../input/options.ts";
import { readSecret } from "../input/read-secret.ts";
import { registerTokenCommands } from "./organizations/tokens.ts";

export function registerAuthCommands(program: Command, cli: Cli): void {
  const auth = program.command("auth").description("Access to the API.");
  addExamples(auth, "skerry auth login < token", "skerry auth whoami", "skerry auth token --name ci");
  // Also at the top, where people look for them first.
  for (const parent of [auth, program]) {
    registerLogin(parent, cli);
    registerLogout(parent, cli);
    registerWhoami(parent, cli);
  }
  registerTokenCommands(auth, cli);
}

function registerLogin(parent: Command, cli: Cli): void {
  const command = parent
    .command("login")
    .description(
      "Save a token, and the address of its server, for the next commands. The token comes from standard input.",
    )
    .option("--json", "print who it is as JSON")
    .action(async (flags: { readonly json?: boolean }, self: Command) => {
      const { apiUrl } = readSettings(self.optsWithGlobals<Flags>());
      const token = self.optsWithGlobals<Flags>().token ?? (await readSecret("API token", "token"));
      const me = await new Skerry({ baseUrl: apiUrl, token }).me({ signal: cli.signal });
      await writeConfig({ api_url: apiUrl, token }, configPath());
      if (flags.json === true) return cli.output.json(me);
      await cli.output.note(`You are ${me.name}, ${me.role} of ${me.organization_name}, at ${apiUrl}.`);
    });
  addExamples(
    command,
    "skerry auth login --api-url https://skerry.example.org",
    "skerry auth login --api-url https://skerry.example.org < token.txt",
  );
}

function registerLogout(parent: Command, cli: Cli): void {
  const command = parent
    .command("logout")
    .description("Forget the saved token.")
    .option("--revoke", "end it on the server too, with all that it minted")
    .action(async (flags: { readonly revoke?: boolean }) => {
      const { api_url: apiUrl, token } = readSaved();
      if (token === undefined) return cli.output.note("No token is saved.");
      if (flags.revoke === true && apiUrl !== undefined) {
        const client = new Skerry({ baseUrl: apiUrl, token });
        const { token_id: id } = await client.me({ signal: cli.signal });
        await client.tokens.revoke(id, { signal: cli.signal });
      }
      await writeConfig(given({ api_url: apiUrl }), configPath());
      await cli.output.note(
        flags.revoke === true ? "The token is revoked and forgotten." : "The token is forgotten.",
      );
    });
  addExamples(command, "skerry auth logout", "skerry auth logout --revoke");
}

function registerWhoami(auth: Command, cli: Cli): void {
  const command = auth
    .command("whoami")
    .description("Show who you are, where, and what your token can do there.")
    .option("--json", "print JSON")
    .action(async (flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const me = await client.me({ signal: cli.signal });
      if (flags.json === true) return cli.output.json(me);
      await cli.output.fields(describe(me));
    });
  addExamples(command, "skerry auth whoami", "skerry auth whoami --org org_01jd3... --json | jq -r .role");
}

function describe(me: Me): [string, string][] {
  return [
    ["user", `${me.user_id} (${me.name})`],
    ["organization", `${me.organization_id} (${me.organization_name})`],
    ["role", me.role],
    ["token", `${me.token_id} (${me.token_name})`],
    ["expires", me.expires_at ?? "never"],
    ["scopes", scopesText(me)],
  ];
}

/** A token without limits of its own may what its user's role may. */
function scopesText({ scopes, role }: Me): string {
  if (!scopes.includes("*")) return scopes.join(" ");
  return role === "owner" ? "everything" : `everything that the role ${role} may`;
}
