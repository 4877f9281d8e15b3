// `skerry api`: any plain call of the API by its name in the TypeScript client, for what has no command.

import { readFile } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import type { Command } from "commander";
import type { Skerry } from "@skerry/sdk";
import type { Cli } from "../cli.ts";
import { CliError, exitCodes } from "../errors/errors.ts";
import { calls, type ApiCall } from "../generated/calls.ts";
import { flags, type Flag } from "../generated/flags.ts";
import { addExamples, collectText } from "../input/options.ts";

interface Flags {
  readonly field?: readonly string[];
  readonly fromFile?: string;
}

type Fields = Readonly<Record<string, unknown>>;

const known: Readonly<Record<string, readonly Flag[]>> = flags;

export function registerApiCommand(program: Command, cli: Cli): void {
  const command = program
    .command("api")
    .description("Make a call of the API by its name in the TypeScript client, and print the answer as JSON.")
    .argument("[call]", "such as hosts.list; without it the calls are listed")
    .argument("[arguments...]", "what the call is about, such as an id")
    .option("-f, --field <NAME=VALUE>", "a field of the query or of the body; repeatable", collectText)
    .option("--from-file <file>", "the fields as a JSON object, from a file or with - from standard input")
    .action(async (name: string | undefined, given: readonly string[], options: Flags, self: Command) => {
      if (name === undefined) return list(cli);
      const call = Object.hasOwn(calls, name) ? calls[name] : undefined;
      if (call === undefined)
        throw usage(`There is no call "${name}".`, "`skerry api` lists those that there are.");
      checkGiven(name, call, given);
      const fields = { ...(await fileFields(options.fromFile)), ...fieldsOf(call, options.field ?? []) };
      checkFields(name, call, fields);
      const client = await cli.client(self);
      const args = [...given, ...fieldArguments(call, fields), { signal: cli.signal }];
      const answer = await made(client, name, args);
      if (answer !== undefined) await cli.output.json(answer);
    });
  addExamples(
    command,
    "skerry api",
    "skerry api hosts.drain hst_01jd3...",
    "skerry api tokens.create --field name=ci --field expires_in=24h",
    "skerry api organizations.setLimits org_01jd3... --from-file limits.json",
  );
}

function checkGiven(name: string, { parameters }: ApiCall, given: readonly string[]): void {
  if (given.length === parameters.length) return;
  const wanted = parameters.join(", ") || "no arguments";
  throw usage(
    `The call ${name} takes ${wanted}, and ${given.length} came.`,
    "Fields go by --field NAME=VALUE.",
  );
}

/** A field that no one would read might be what keeps a call within bounds. */
function checkFields(name: string, { body, query = [] }: ApiCall, fields: Fields): void {
  const unknown = Object.keys(fields).find((field) => body === undefined && !query.includes(field));
  if (unknown === undefined) return;
  const known = query.length === 0 ? "It takes none." : `It takes ${query.join(", ")}.`;
  throw usage(`The call ${name} has no field "${unknown}".`, known);
}

function list({ output }: Cli): Promise<void> {
  return output.table(
    ["CALL", "ARGUMENTS", "DOES", "FIELDS"],
    Object.entries(calls).map(([name, { parameters, summary, operation, query = [] }]) => [
      ...[name, parameters.join(" "), summary],
      (known[operation]?.map(({ field }) => field) ?? query).join(" "),
    ]),
    { prose: [2, 3] },
  );
}

function usage(message: string, remediation: string): CliError {
  return new CliError("invalid_input", message, { remediation, exitCode: exitCodes.usage });
}

async function fileFields(file: string | undefined): Promise<Fields> {
  if (file === undefined) return {};
  const read = file === "-" ? await readAll(process.stdin) : await readFile(file, "utf8");
  const fields = jsonOrText(read);
  if (typeof fields === "object" && fields !== null && !Array.isArray(fields)) return fields as Fields;
  throw usage("The fields are no JSON object.", 'Give one such as {"name": "ci"}.');
}

/** JSON as what it says, and other text as it is. */
function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Values as the declaration has their kind; several of a list are given one by one. */
function fieldsOf({ operation }: ApiCall, given: readonly string[]): Fields {
  const declared = known[operation] ?? [];
  const fields = new Map<string, unknown>();
  for (const field of given) {
    const [, name = "", value = ""] = /^([a-z_][a-z0-9_]*)=([^]*)$/.exec(field) ?? [];
    if (name === "") throw usage(`"${field}" is no field.`, "Write --field NAME=VALUE.");
    const kind = declared.find((flag) => flag.field === name)?.kind;
    const before = fields.get(name);
    if (kind === "list") fields.set(name, [...(Array.isArray(before) ? before : []), value]);
    else fields.set(name, kind === "text" ? value : jsonOrText(value));
  }
  return Object.fromEntries(fields);
}

/** Those of the body come first, as in the methods. */
function fieldArguments({ body, query = [] }: ApiCall, fields: Fields): readonly Fields[] {
  const inQuery = Object.entries(fields).filter(([name]) => body === undefined || query.includes(name));
  const inBody = Object.entries(fields).filter(([name]) => !query.includes(name));
  return [
    ...(body === undefined ? [] : [Object.fromEntries(inBody)]),
    ...(query.length === 0 ? [] : [Object.fromEntries(inQuery)]),
  ];
}

type Method = (...args: readonly unknown[]) => unknown;

/** Calls the method, and reads what it gives piece by piece to its end. */
async function made(client: Skerry, name: string, args: readonly unknown[]): Promise<unknown> {
  const path = name.split(".");
  const owner = path.length === 1 ? client : (Reflect.get(client, path[0] ?? "") as object);
  const answer = await (Reflect.get(owner, path.at(-1) ?? "") as Method).apply(owner, args as never);
  // As the API has lists.
  if (Array.isArray(answer)) return { items: answer };
  if (typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer) {
    const items: unknown[] = [];
    for await (const item of answer as AsyncIterable<unknown>) items.push(item);
    return { items, next_cursor: null };
  }
  return answer;
}
