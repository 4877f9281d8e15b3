// `skerry.toml` of a folder. Loaded by the commands that deploy alone, because the schema takes its time.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify, TomlError } from "smol-toml";
import { AppFile } from "@skerry/contract/apps/app-file";
import { APP_NAME_PATTERN } from "@skerry/contract/apps/app-bounds";
import { editDistance } from "@skerry/contract/edit-distance";
import { CliError, exitCodes } from "../../errors/errors.ts";

export const APP_FILE = "skerry.toml";

/** Undefined where the folder has none. Throws for what is no TOML, has unknown keys or names no app. */
export async function readAppFile(folder: string): Promise<AppFile | undefined> {
  const text = await readFile(join(folder, APP_FILE), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const file = parsed(text);
  checkKeys(file, AppFile, "");
  const { app } = file as { readonly app?: unknown };
  if (typeof app === "string" && new RegExp(APP_NAME_PATTERN).test(app)) return file as AppFile;
  throw fault("names no app", 'Write `app = "NAME"` at its top: small letters, digits and dashes.');
}

/** Throws where the folder has one. */
export async function writeAppFile(folder: string, file: AppFile): Promise<void> {
  const head = "# How skerry deploys this folder. docs/apps.md of Skerry has all keys.\n";
  await writeFile(join(folder, APP_FILE), head + stringify(file) + "\n", { flag: "wx" });
}

function parsed(text: string): object {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what] = error.message.split("\n");
    throw fault(`is no TOML in line ${error.line}`, `${what ?? ""}.`);
  }
}

/** JSON Schema, as far as it says which keys there are. */
interface KeySchema {
  readonly properties?: Readonly<Record<string, object>>;
  readonly patternProperties?: Readonly<Record<string, object>>;
  readonly items?: object;
  readonly anyOf?: readonly object[];
}

/** The server checks values. It cannot know the keys, because the file is taken apart here. */
function checkKeys(value: unknown, schema: object, path: string): void {
  const { items = {}, anyOf = [] } = schema as KeySchema;
  if (Array.isArray(value))
    value.forEach((item: unknown, index) => checkKeys(item, items, `${path}[${index}]`));
  else if (typeof value === "object" && value !== null)
    checkTable(value, anyOf.find((one) => "properties" in one) ?? schema, path);
}

function checkTable(table: object, schema: object, path: string): void {
  const { properties, patternProperties = {} } = schema as KeySchema;
  const [ofAnyKey = {}] = Object.values(patternProperties);
  for (const [key, value] of Object.entries(table)) {
    const at = path === "" ? key : `${path}.${key}`;
    if (properties !== undefined && !Object.hasOwn(properties, key))
      throw unknownKey(at, key, Object.keys(properties));
    checkKeys(value, properties?.[key] ?? ofAnyKey, at);
  }
}

function unknownKey(at: string, key: string, known: readonly string[]): CliError {
  const [nearest] = known.toSorted((one, other) => editDistance(key, one) - editDistance(key, other));
  return fault(`has the unknown key "${at}"`, `The nearest one is "${nearest}" of: ${known.join(", ")}.`);
}

function fault(what: string, remediation: string): CliError {
  return new CliError("invalid_app_file", `${APP_FILE} ${what}.`, { remediation, exitCode: exitCodes.usage });
}
