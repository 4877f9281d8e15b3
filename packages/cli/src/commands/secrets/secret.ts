// `skerry secret`: values that are written and never read.

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { Secret } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { addExamples, given, wholeNumber } from "../../input/options.ts";
import { readSecret } from "../../input/read-secret.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { deployAgain } from "../apps/deploy-again.ts";
import { addDeedCommand, addEachCommand, addListCommand } from "../resources/resource-commands.ts";
import { readEnvFile } from "../vms/env-flags.ts";
import { forEach } from "../vms/vm-list.ts";

const VERSION_MAX = 1_000_000_000 - 1;

export function registerSecretCommands(program: Command, cli: Cli): void {
  const secret = program.command("secret").description("Values that are written and never read.");
  addExamples(secret, "skerry secret set API_KEY < key.txt", "skerry secret list");
  registerList(secret, cli);
  registerShow(secret, cli);
  registerSet(secret, cli);
  registerImport(secret, cli);
  registerRollback(secret, cli);
  const remove: Command = addEachCommand(secret, cli, {
    name: "delete",
    description: "Delete secrets with all their versions.",
    examples: ["skerry secret delete API_KEY", "skerry secret delete API_KEY --app shop"],
    argument: ["<name...>", "names of secrets"],
    act: async ({ secrets, apps }, name, options) => {
      const { app } = remove.opts<AppFlag>();
      const deleted =
        app === undefined ? secrets.delete(name, options) : apps.deleteSecret(app, name, options);
      const { still_in: vms } = await deleted;
      return vms.length === 0 ? `${name} deleted` : `${name} deleted; still in ${vms.join(", ")}`;
    },
  });
  addAppFlag(remove);
}

interface AppFlag {
  readonly app?: string;
}

function addAppFlag(command: Command): Command {
  return command.option(
    "--app <name>",
    "name or id of the app whose own secret it is (default: the organization's)",
  );
}

function registerList(secret: Command, cli: Cli): void {
  const list: Command = addListCommand<Secret>(secret, cli, {
    description: "List the secrets of the organization or of an app, without their values.",
    examples: [
      "skerry secret list",
      "skerry secret list --app shop",
      "skerry secret list --json | jq -r '.items[].name'",
    ],
    read: ({ secrets, apps }, _query, options) => {
      const { app } = list.opts<AppFlag>();
      return app === undefined ? secrets.list(options) : apps.secrets(app, options);
    },
    columns: [
      ["NAME", ({ name }) => name],
      ["VERSION", ({ version }) => String(version)],
      ["DIGEST", ({ digest }) => digest],
      ["SET", (one) => relativeTime(one.set_at)],
      ["BY", (one) => one.set_by ?? "-"],
    ],
    layout: { whole: [1, 2, 3], minor: [4, 2] },
  });
  addAppFlag(list);
}

function registerShow(secret: Command, cli: Cli): void {
  addDeedCommand(secret, cli, {
    name: "show",
    description: "Show the versions of a secret that are kept, without their values.",
    examples: ["skerry secret show API_KEY"],
    argument: ["<name>", "name of the secret"],
    act: ({ secrets }, name, options) => secrets.get(name, options),
    print: ({ versions }) =>
      cli.output.table(
        ["VERSION", "DIGEST", "SET", "BY", "ROLLED BACK TO"],
        versions.map((one) => [
          ...[String(one.version), one.digest, relativeTime(one.set_at), one.set_by ?? "-"],
          one.rolled_back_to === null ? "-" : String(one.rolled_back_to),
        ]),
        { whole: [0, 1, 2, 4], minor: [3] },
      ),
  });
}

interface SetFlags extends AppFlag {
  readonly fromFile?: string;
  readonly stage?: boolean;
  readonly detach?: boolean;
  readonly json?: boolean;
}

function registerSet(secret: Command, cli: Cli): void {
  const command = secret
    .command("set")
    .description(
      "Set a secret. Its value comes from standard input, or is typed and not shown; never an argument.",
    )
    .argument("<name>", "letters, digits and _, as of an environment variable")
    .option("--from-file <file>", "take the value from a file, as it is")
    .option("--stage", "of an app: do not deploy it now; its next deploy has the value")
    .option("--detach", "of an app: do not wait until it is live with the value")
    .option("--json", "print JSON, as the API has it");
  addAppFlag(command).action(async (name: string, flags: SetFlags, self: Command) => {
    const client = await cli.client(self);
    const value = flags.fromFile === undefined ? await typedValue() : await readFile(flags.fromFile, "utf8");
    const { app } = flags;
    const options = { signal: cli.signal };
    const set =
      app === undefined
        ? await client.secrets.set(name, { value }, options)
        : await client.apps.setSecret(app, name, { value }, options);
    if (flags.json === true) await cli.output.json(set);
    else await cli.output.note(`${set.name} has version ${set.version}.`);
    if (app !== undefined && flags.stage !== true)
      await deployAgain(cli, client, { app, flags: given({ detach: flags.detach }) });
  });
  addExamples(
    command,
    "skerry secret set API_KEY",
    "pass show api | skerry secret set API_KEY",
    "skerry secret set TLS_KEY --from-file key.pem",
    "skerry secret set API_KEY --app shop < key.txt",
  );
}

/** Value from a pipe, without a newline at its end, which `echo` adds, or from a prompt. */
async function typedValue(): Promise<string> {
  if (process.stdin.isTTY) return readSecret("Value", "value");
  const value = (await text(process.stdin)).replace(/\r?\n$/, "");
  if (value !== "") return value;
  throw new CliError("no_value", "Nothing came on standard input where a value was expected.", {
    remediation: "Pipe a value into the command, type one when it asks, or give --from-file.",
    exitCode: exitCodes.usage,
  });
}

function registerImport(secret: Command, cli: Cli): void {
  const command = secret
    .command("import")
    .description("Set a secret for each KEY=VALUE line of a file, such as .env.")
    .argument("<file>", "the file; quotes around a value are left out")
    .action(async (file: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      const values = new Map(await readEnvFile(file));
      await forEach(cli, values.keys(), async (name) => {
        const value = unquoted(values.get(name) ?? "");
        const { version } = await client.secrets.set(name, { value }, { signal: cli.signal });
        await cli.output.line(`${name} has version ${version}`);
      });
    });
  addExamples(command, "skerry secret import .env");
}

function unquoted(value: string): string {
  const [, , inner] = /^\s*(["'])(.*)\1\s*$/s.exec(value) ?? [];
  return inner ?? value;
}

function registerRollback(secret: Command, cli: Cli): void {
  const command = secret
    .command("rollback")
    .description("Add a version with the value of an earlier one.")
    .argument("<name>", "name of the secret")
    .argument("<version>", "number of a version that `show` lists", (text: string) =>
      wholeNumber(text, VERSION_MAX),
    )
    .option("--json", "print JSON, as the API has it")
    .action(async (name: string, version: number, flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const set = await client.secrets.rollBack(name, { version }, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(set);
      await cli.output.note(`${set.name} has version ${set.version}, with the value of version ${version}.`);
    });
  addExamples(command, "skerry secret rollback API_KEY 3");
}
