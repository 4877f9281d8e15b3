#!/usr/bin/env node
// The `skerry` command: the program, and the one place where the process gets its exit code.

import { Command } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { Cli } from "./cli.ts";
import { registerAuditCommands } from "./commands/organizations/audit.ts";
import { registerHostCommands } from "./commands/hosts/host.ts";
import { registerMachineCommands } from "./commands/machines/machine.ts";
import { registerPlatformCommands } from "./commands/platform.ts";
import { registerSandboxCommands } from "./commands/sandboxes/sandbox.ts";
import { registerAuthCommands } from "./commands/auth.ts";
import { registerOrganizationCommands } from "./commands/organizations/organizations.ts";
import { DEFAULT_API_URL } from "./config.ts";
import { endingOf } from "./errors.ts";

/** Nouns of the API. Everything else (`up`, `status`, the list in the help) needs the local commands too. */
const clientNouns = new Set(["audit", "auth", "host", "org", "sandbox", "machine", "template", "size"]);

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const cli = new Cli();
  const program = makeProgram();
  registerAuthCommands(program, cli);
  registerOrganizationCommands(program, cli);
  registerSandboxCommands(program, cli);
  registerMachineCommands(program, cli);
  registerPlatformCommands(program, cli);
  registerAuditCommands(program, cli);
  registerHostCommands(program, cli);
  try {
    // Client commands start without loading what runs a server. A flag's value that is also a noun only costs time.
    if (!args.some((arg) => clientNouns.has(arg)) || args[0]?.startsWith("-") === true) {
      const { registerLocalCommands } = await import("./local/local-commands.ts");
      registerLocalCommands(program, cli);
    }
    await program.parseAsync(args, { from: "user" });
    return cli.exitCode;
  } catch (error) {
    const { exitCode, failure } = endingOf(error);
    if (failure !== undefined) await cli.output.failure(failure);
    return exitCode;
  }
}

/** Settings made here reach every command that is added later. */
function makeProgram(): Command {
  return new Command("skerry")
    .description("Runs untrusted code in microVMs: sandboxes, commands, files.")
    .version(packageJson.version)
    .option("--api-url <url>", `address of the server (SKERRY_API_URL; default ${DEFAULT_API_URL})`)
    .option("--token <token>", "API token (better SKERRY_API_TOKEN: other users can see flags)")
    .option("--org <id>", "organization to work in (SKERRY_ORG_ID; default: the token's own)")
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .showHelpAfterError("Run the command with --help to see how it is used.");
}
