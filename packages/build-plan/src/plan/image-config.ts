// What an image says of that which runs in it, from `buildah inspect`. It was written in a microVM of the tenant, so it may be anything.

import { SkerryError } from "@skerry/contract/errors";
import { shellWord } from "@skerry/contract/shell-words";
import type { PlannedConfig } from "../build-plan.ts";

export interface ImageConfig extends PlannedConfig {
  /** Its entry point and command as one line of a shell; null where it has none. Nothing runs it unless it is asked for. */
  readonly command: string | null;
}

/** Of the file, in bytes. */
export const IMAGE_CONFIG_MAX_BYTES = 1024 * 1024;

const ENTRIES_MAX = 256;
const TEXT_MAX_CHARS = 16_384;

/** Throws `invalid_build` where the text is not what buildah writes. */
export function imageConfig(text: string): ImageConfig {
  if (text.length > IMAGE_CONFIG_MAX_BYTES) throw fault(`has more than ${IMAGE_CONFIG_MAX_BYTES} bytes`);
  let inspected: unknown;
  try {
    inspected = JSON.parse(text);
  } catch {
    throw fault("is no JSON");
  }
  const config = field(field(inspected, "OCIv1"), "config") ?? {};
  const words = [...strings(config, "Entrypoint"), ...strings(config, "Cmd")];
  const user = string(config, "User");
  const workdir = string(config, "WorkingDir");
  if (user !== "" && !/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,31})?$/.test(user))
    throw fault(`has the user ${JSON.stringify(user.slice(0, 100))}, which is none`);
  if (workdir !== "" && (!workdir.startsWith("/") || workdir.length > 4_000))
    throw fault(`has the folder ${JSON.stringify(workdir.slice(0, 100))}, which is no absolute path`);
  return {
    env: Object.fromEntries(strings(config, "Env").map(variable)),
    user: user === "" ? null : user,
    // Without one the image means its root, and not the home of its user.
    workdir: workdir === "" ? "/" : workdir,
    command: words.length === 0 ? null : words.map(shellWord).join(" "),
  };
}

function variable(text: string): [string, string] {
  const [, name, value] = /^([^=\0]{1,128})=([^\0]*)$/s.exec(text) ?? [];
  // No JSON with a field of this name is read anywhere.
  if (name === undefined || value === undefined || name === "__proto__")
    throw fault(`has the variable ${JSON.stringify(text.slice(0, 100))}, which is none`);
  return [name, value];
}

function strings(object: unknown, name: string): readonly string[] {
  const value = field(object, name) ?? [];
  if (!Array.isArray(value) || value.length > ENTRIES_MAX)
    throw fault(`has no list \`${name}\` of at most ${ENTRIES_MAX}`);
  return value.map((one: unknown) => checkedString(one, name));
}

function string(object: unknown, name: string): string {
  return checkedString(field(object, name) ?? "", name);
}

function checkedString(value: unknown, name: string): string {
  const isText = typeof value === "string" && value.length <= TEXT_MAX_CHARS;
  if (isText && !value.includes("\0") && value.isWellFormed()) return value;
  throw fault(`has in \`${name}\` what is no text of at most ${TEXT_MAX_CHARS} characters`);
}

function field(object: unknown, name: string): unknown {
  if (typeof object !== "object" || object === null || !Object.hasOwn(object, name)) return undefined;
  const value: unknown = (object as Readonly<Record<string, unknown>>)[name];
  return value === null ? undefined : value;
}

function fault(text: string): SkerryError {
  return new SkerryError("invalid_build", `The image's configuration ${text}.`);
}
