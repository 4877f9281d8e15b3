// What Linux takes as an environment, which a schema cannot express.

import { SkerryError } from "@skerry/contract/errors";
import { PAYLOAD_MAX_BYTES } from "@skerry/contract/frames";
import { ENV_MAX_ENTRIES, ENV_VALUE_MAX_CHARS } from "@skerry/contract/bounds";
import { CONTROL_CHARACTER } from "./check-text.ts";

/** A command with its environment travels to the guest in one frame, as JSON; the rest of the frame holds its other fields. */
const OPERATION_MAX_BYTES = PAYLOAD_MAX_BYTES - 8 * 1024;

type Pairs = Readonly<Record<string, string>>;

/** The environment as it is, or `invalid_env`. Values are never repeated in an error: they may be secrets. */
export function checkEnv(env: Pairs): Pairs {
  const entries = Object.entries(env);
  if (entries.length > ENV_MAX_ENTRIES) {
    throw invalidEnv(`"env" has ${entries.length} variables; at most ${ENV_MAX_ENTRIES} are allowed.`);
  }
  for (const [name, value] of entries) {
    const fault = nameFault(name) ?? valueFault(value);
    if (fault !== undefined) throw invalidEnv(`A variable in "env" ${fault}.`, name);
  }
  if (Buffer.byteLength(JSON.stringify(env)) > OPERATION_MAX_BYTES) {
    throw invalidEnv(`"env" is longer than ${OPERATION_MAX_BYTES} bytes in all.`);
  }
  return env;
}

function nameFault(name: string): string | undefined {
  if (name === "") return "has an empty name";
  if (name.includes("=")) return "has a name with `=`";
  if (CONTROL_CHARACTER.test(name)) return "has a name with NUL or another control character";
  return name.isWellFormed() ? undefined : "has a name that is not valid Unicode";
}

function valueFault(value: unknown): string | undefined {
  if (typeof value !== "string") return "has a value that is not a string";
  if (value.length > ENV_VALUE_MAX_CHARS) return `has a value longer than ${ENV_VALUE_MAX_CHARS} characters`;
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

/** A command and its environment fit the one frame that carries them, or `bad_request`. */
export function checkTogether({
  command,
  env,
}: {
  readonly command: string | readonly string[];
  readonly env: Pairs;
}): void {
  if (Buffer.byteLength(JSON.stringify([command, env])) <= OPERATION_MAX_BYTES) return;
  throw new SkerryError(
    "bad_request",
    `"command" and "env" are longer than ${OPERATION_MAX_BYTES} bytes together.`,
    {
      remediation: "Upload a script and run that.",
      context: { field: "command", max_bytes: OPERATION_MAX_BYTES },
    },
  );
}
