// The `skerry` command as far as it calls the API, and the one place where the process gets its exit code. `main.ts` adds the commands that run
// Skerry on this machine; `client-main.ts` says where they are.

import { DEFAULT_API_URL } from "@skerry/sdk/saved-settings";
import { Command, CommanderError } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { Cli } from "../cli.ts";
import { registerApiCommand } from "../commands/api.ts";
import { registerAppCommands } from "../commands/apps/app.ts";
import { registerAuditCommands } from "../commands/audit.ts";
import { registerBuildCommands } from "../commands/builds/build.ts";
import { registerE2bCommands } from "../commands/e2b.ts";
import { registerEitherVmCommands } from "../commands/either-vm.ts";
import { registerBackgroundServiceCommands } from "../commands/background-services.ts";
import { registerEventsCommand } from "../commands/events.ts";
import { registerMoveCommands } from "../commands/hosts/moves.ts";
import { registerHostCommands } from "../commands/hosts/host.ts";
import { registerMachineCommands } from "../commands/machines/machine.ts";
import { registerPlatformCommands } from "../commands/platform.ts";
import { registerSnapshotCommands } from "../commands/snapshots/snapshot.ts";
import { registerCacheCommands } from "../commands/templates/cache.ts";
import { registerOpenCommand } from "../commands/open.ts";
import { registerSecretCommands } from "../commands/secrets/secret.ts";
import { registerRegistryCommands } from "../commands/registries/registry.ts";
import { registerTemplateCommands } from "../commands/templates/template.ts";
import { registerUsageCommand } from "../commands/usage.ts";
import { registerSandboxCommands } from "../commands/sandboxes/sandbox.ts";
import { registerAuthCommands } from "../commands/auth.ts";
import { registerRun } from "../commands/run.ts";
import { registerRuns } from "../commands/runs.ts";
import { registerCp } from "../commands/copy/cp.ts";
import { registerCompletionCommands } from "../commands/completion.ts";
import { registerOrganizationCommands } from "../commands/organizations/organizations.ts";
import { completeTree } from "./complete-tree.ts";
import { addOtherWords, commandCalled } from "./other-words.ts";
import { endingOf, InterruptedError } from "../errors/errors.ts";
import type { Failure } from "../errors/failure.ts";

/** What a program has beside the commands that call the API. */
export interface LocalCommands {
  /** On the program itself. Called before the arguments are read. */
  register(program: Command, cli: Cli, args: readonly string[]): Promise<void>;
  /** On `skerry host`. */
  registerHost(host: Command, cli: Cli): void;
}

/** Runs the command of these arguments, and has the process end with its exit code. */
export async function runProgram(args: readonly string[], local: LocalCommands): Promise<void> {
  process.exitCode = await exitCodeOf(rewritten(args), local);
}

async function exitCodeOf(args: readonly string[], local: LocalCommands): Promise<number> {
  const isJson = flagsOf(args).includes("--json");
  const cli = new Cli({ isJson, hasSeparator: args.includes("--") });
  const faults: string[] = [];
  const program = makeProgram(isJson ? faults : undefined);
  addVersion(program, args);
  local.registerHost(registerClientCommands(program, cli), cli);
  try {
    await local.register(program, cli, args);
    addOtherWords(program);
    completeTree(program);
    await program.parseAsync(withHelpFlag(program, args), { from: "user" });
    return cli.exitCode;
  } catch (error) {
    return await ended(cli, error, isJson ? faults.join("") : undefined);
  }
}

/** Registers all commands that call the API. Returns `skerry host`, for those that work on the machine
 *  itself. */
export function registerClientCommands(program: Command, cli: Cli): Command {
  program.commandsGroup("Run:");
  registerSandboxCommands(program, cli);
  registerMachineCommands(program, cli);
  registerSnapshotCommands(program, cli);
  registerRun(program, cli);
  registerRuns(program, cli);
  registerEitherVmCommands(program, cli);
  registerCp(program, cli);
  program.commandsGroup("Apps:");
  registerAppCommands(program, cli);
  program.commandsGroup("Build:");
  registerTemplateCommands(program, cli);
  registerBuildCommands(program, cli);
  registerRegistryCommands(program, cli);
  registerCacheCommands(program, cli);
  program.commandsGroup("Your organization and access to it:");
  registerAuthCommands(program, cli);
  registerOpenCommand(program, cli);
  registerOrganizationCommands(program, cli);
  registerSecretCommands(program, cli);
  registerAuditCommands(program, cli);
  registerUsageCommand(program, cli);
  registerEventsCommand(program, cli);
  registerPlatformCommands(program, cli);
  registerE2bCommands(program, cli);
  program.commandsGroup("For the operator of the cluster:");
  const host = registerHostCommands(program, cli);
  registerMoveCommands(program, cli);
  registerBackgroundServiceCommands(program, cli);
  program.commandsGroup("Other:");
  registerApiCommand(program, cli);
  registerCompletionCommands(program, cli);
  return host;
}

/** `fault`: what commander says of the arguments, where it is to become JSON. */
async function ended(cli: Cli, error: unknown, fault: string | undefined): Promise<number> {
  cli.waits.endRequest();
  const { exitCode, failure } = endingOf(error, cli.failedExitCode);
  if (error instanceof InterruptedError) await cli.output.interrupted();
  if (failure !== undefined) await cli.output.failure(failure);
  else if (fault !== undefined && error instanceof CommanderError && error.exitCode !== 0)
    await cli.output.failure(failureOfFault(fault));
  return exitCode;
}

/** What is wrong is its first line, and what to do are the others. */
function failureOfFault(fault: string): Failure {
  const [first = "", ...others] = fault.split("\n").filter((line) => line !== "");
  const remedies = others.map((line) => line.replace(/^\((.*)\)$/, "$1"));
  const message = first.replace(/^error: /, "");
  return {
    code: "invalid_input",
    message,
    ...(remedies.length > 0 && { remediation: remedies.join(" ") }),
  };
}

/** What people type by habit, as the program has it. */
function rewritten(args: readonly string[]): readonly string[] {
  const [first, ...others] = args;
  if (first === "-V" || first === "version") return ["--version", ...others];
  return args;
}

/**
 * Commander's own version option counts anywhere, and would end `run -v ./src:/src -- make test` with success
 * and without a run.
 */
function addVersion(program: Command, [first]: readonly string[]): void {
  program.option("-v, --version", "output the version number");
  program.on("option:version", () => {
    if (first !== "-v" && first !== "--version") program.error(MISPLACED_VERSION);
    program.configureOutput().writeOut?.(`${packageJson.version}\n`);
    throw new CommanderError(0, "commander.version", packageJson.version);
  });
}

const MISPLACED_VERSION = `error: unknown option '-v' or '--version'
\`skerry --version\` prints the version. Put \`--\` before a command that has the option.
There are no volumes to mount: \`skerry run --copy-in PATH\` takes files along.`;

/** `help A B` as `A B --help`: commander's own `help` shows one level, and knows no unknown command. */
function withHelpFlag(program: Command, args: readonly string[]): readonly string[] {
  const [first, ...words] = args;
  if (first !== "help" || words.length === 0) return args;
  let command = program;
  for (const word of words) {
    if (word.startsWith("-") || command.commands.length === 0) break;
    const found = commandCalled(command, word);
    if (found === undefined) command.error(`error: unknown command '${word}'`);
    else command = found;
  }
  return [...words, "--help"];
}

/** What follows `--` belongs to the command that is run elsewhere. */
function flagsOf(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end < 0 ? args : args.slice(0, end);
}

/** Columns that are left for a description, from which on it is broken into lines and not printed as it is. */
const DESCRIPTION_MIN = 20;

/** Settings made here reach every command that is added later. `faults` gets what commander would write to standard error. */
function makeProgram(faults: string[] | undefined): Command {
  return new Command("skerry")
    .description("Runs untrusted code in microVMs: sandboxes, commands, files.")
    .option("--api-url <url>", `address of the server (SKERRY_API_URL; default ${DEFAULT_API_URL})`)
    .option("--token <token>", "API token (better SKERRY_API_TOKEN: other users can see flags)")
    .option("--org <id>", "organization to work in, by id or name (SKERRY_ORG_ID; default: the token's own)")
    .configureHelp({
      showGlobalOptions: true,
      minWidthToWrap: DESCRIPTION_MIN,
      // Without its options, which the command's own help has.
      subcommandTerm: (command) =>
        [command.name(), ...command.registeredArguments.map(argumentText)].join(" "),
    })
    .configureOutput(faults === undefined ? {} : { writeErr: (text) => void faults.push(text) })
    .commandsGroup("Other:")
    .helpCommand("help [command]", "Show how a command is used.")
    .exitOverride()
    .showHelpAfterError("Run the command with --help to see how it is used.");
}

function argumentText(argument: Command["registeredArguments"][number]): string {
  const name = argument.name() + (argument.variadic ? "..." : "");
  return argument.required ? `<${name}>` : `[${name}]`;
}
