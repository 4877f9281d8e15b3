// Bounds of Linux on an environment and as arguments, which a schema cannot express.

import { SkerryError } from "@skerry/contract/errors";
import { PAYLOAD_MAX_BYTES, REQUEST_MAX_BYTES } from "@skerry/contract/frames";
import { ARGUMENT_MAX_BYTES, ENV_MAX_ENTRIES } from "@skerry/contract/bounds";
import { CONTROL_CHARACTER } from "./check-text.ts";

/** Room for the other fields of a request that carries them. */
const OTHER_FIELDS_BYTES = 8 * 1024;

/**
 * A command and its environment, as JSON: of a VM and of a template, which the database keeps, and of a
 * command that is run once.
 */
const STORED_MAX_BYTES = PAYLOAD_MAX_BYTES - OTHER_FIELDS_BYTES;
export const RUN_MAX_BYTES = REQUEST_MAX_BYTES - OTHER_FIELDS_BYTES;

type Pairs = Readonly<Record<string, string>>;

/** The environment as it is, or `invalid_env`. Values are never repeated in an error: they may be secrets. */
export function checkEnv(env: Pairs, maxBytes = STORED_MAX_BYTES): Pairs {
  const entries = Object.entries(env);
  if (entries.length > ENV_MAX_ENTRIES) {
    throw invalidEnv(`"env" has ${entries.length} variables; at most ${ENV_MAX_ENTRIES} are allowed.`);
  }
  for (const [name, value] of entries) {
    const fault = nameFault(name) ?? valueFault(name, value);
    if (fault !== undefined) throw invalidEnv(`A variable in "env" ${fault}.`, name);
  }
  if (Buffer.byteLength(JSON.stringify(env)) > maxBytes) {
    throw invalidEnv(`"env" is longer than ${maxBytes} bytes in all.`);
  }
  return env;
}

function nameFault(name: string): string | undefined {
  if (name === "") return "has an empty name";
  if (name.includes("=")) return "has a name with `=`";
  if (CONTROL_CHARACTER.test(name)) return "has a name with NUL or another control character";
  return name.isWellFormed() ? undefined : "has a name that is not valid Unicode";
}

function valueFault(name: string, value: unknown): string | undefined {
  if (typeof value !== "string") return "has a value that is not a string";
  if (Buffer.byteLength(`${name}=${value}`) > ARGUMENT_MAX_BYTES)
    return `is longer than ${ARGUMENT_MAX_BYTES} bytes with its name`;
  if (value.includes("\0")) return "has a value with NUL";
  return value.isWellFormed() ? undefined : "has a value that is not valid Unicode";
}

const SHOWN_CHARS = 60;

function invalidEnv(message: string, name?: string): SkerryError {
  return new SkerryError("invalid_env", message, {
    remediation:
      "`env` is an object of strings; a name is not empty and has no `=` and no control character, a value has no NUL.",
    context: { field: "env", ...(name === undefined ? {} : { name: name.slice(0, SHOWN_CHARS) }) },
  });
}

/** Linux starts no program with a longer argument. */
export function checkArgument(argument: string): void {
  if (Buffer.byteLength(argument) > ARGUMENT_MAX_BYTES)
    throw tooLong(`"command" has an argument longer than ${ARGUMENT_MAX_BYTES} bytes.`, ARGUMENT_MAX_BYTES);
}

/** A command and its environment fit the request that carries them, or `bad_request`. */
export function checkTogether(
  { command, env }: { readonly command: string | readonly string[]; readonly env: Pairs },
  maxBytes = STORED_MAX_BYTES,
): void {
  if (Buffer.byteLength(JSON.stringify([command, env])) > maxBytes)
    throw tooLong(`"command" and "env" are longer than ${maxBytes} bytes together.`, maxBytes);
}

function tooLong(message: string, maxBytes: number): SkerryError {
  return new SkerryError("bad_request", message, {
    remediation: "Upload a script and run that.",
    context: { field: "command", max_bytes: maxBytes },
  });
}
