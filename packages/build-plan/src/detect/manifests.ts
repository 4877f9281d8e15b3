// Reading what users wrote. Each function takes any text, and either has the answer or throws `invalid_build` with the file's name. The server reads what is
// in a repository of anybody's in its one loop, so the time of each is bounded by the text's length times a constant.

import { SkerryError } from "@skerry/contract/errors";
import type { ContextFiles } from "../build-plan.ts";

/** Of one file that detection reads. */
export const DETECTED_FILE_MAX_BYTES = 1024 * 1024;

/** Deeper than any manifest, and far from where a parser gives up. */
const DEPTH_MAX = 100;

/** A fault of a file of the context. */
export function fileFault(file: string, fault: string, remediation?: string): SkerryError {
  return new SkerryError(
    "invalid_build",
    `${file} ${fault}.`,
    remediation === undefined ? {} : { remediation },
  );
}

/** The text of a file that is there; undefined where it is not. */
export function textOf({ files, texts }: ContextFiles, file: string): string | undefined {
  if (!files.includes(file)) return undefined;
  const text = Object.hasOwn(texts, file) ? texts[file] : undefined;
  if (text === undefined || text.length > DETECTED_FILE_MAX_BYTES)
    throw fileFault(file, `cannot be read, or has more than ${DETECTED_FILE_MAX_BYTES} bytes`);
  return text.replace(/^\uFEFF/, "");
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON file that holds an object. */
export function jsonObject(file: string, text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // It may quote any character of the file.
    const where = error instanceof Error ? `: ${error.message.slice(0, 200).replaceAll(/[^ -~]/g, "?")}` : "";
    throw fileFault(file, `is no JSON${where}`);
  }
  if (!isObject(value)) throw fileFault(file, "holds no object");
  if (isDeeper(value, DEPTH_MAX)) throw fileFault(file, `is nested more than ${DEPTH_MAX} levels deep`);
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}

/** A field that may be missing, and is a string where it is there. */
export function stringField(file: string, object: JsonObject, name: string): string | undefined {
  const value = ownField(object, name);
  if (value === undefined || typeof value === "string") return value;
  throw fileFault(file, `has a \`${name}\` that is no string`);
}

/** A field that may be missing, and is an object where it is there. */
export function objectField(file: string, object: JsonObject, name: string): JsonObject {
  const value = ownField(object, name);
  if (value === undefined) return {};
  if (isObject(value)) return value;
  throw fileFault(file, `has a \`${name}\` that is no object`);
}

export function ownField(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Lines of a TOML file by their table: only tables and keys are told apart, which is all that detection asks for. */
export function tomlTables(text: string): ReadonlyMap<string, string> {
  const tables = new Map<string, string>();
  let table = "";
  for (const line of text.split("\n")) {
    const header = tomlHeader(line.trim());
    if (header === undefined) tables.set(table, `${tables.get(table) ?? ""}${line}\n`);
    else table = header.replaceAll(/["']/g, "");
    if (header !== undefined && !tables.has(table)) tables.set(table, "");
  }
  return tables;
}

/** The name between the brackets; undefined of a line that begins no table. */
function tomlHeader(line: string): string | undefined {
  const open = line.startsWith("[[") ? "[[" : "[";
  const close = open.replaceAll("[", "]");
  const end = line.indexOf(close);
  if (!line.startsWith(open) || end < 0) return undefined;
  const behind = line.slice(end + close.length).trimStart();
  const name = line.slice(open.length, end).trim();
  return name !== "" && (behind === "" || behind.startsWith("#")) ? name : undefined;
}

/** A command that ends up on one line of a plan, and in a shell: not empty, no NUL, of a bounded length. */
export function commandText(file: string, name: string, text: string): string {
  const command = text.trim();
  if (command === "") throw fileFault(file, `has an empty ${name}`);
  if (command.length > COMMAND_MAX_CHARS || command.includes("\0"))
    throw fileFault(file, `has a ${name} of more than ${COMMAND_MAX_CHARS} characters, or with a NUL`);
  return command;
}

/** The host takes no longer one to start. */
const COMMAND_MAX_CHARS = 10_000;
