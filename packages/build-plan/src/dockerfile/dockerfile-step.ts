// A step of a Dockerfile whose text shows only in the builder: as buildah reads it.

import { SkerryError } from "@skerry/contract/errors";
import type { DockerfileDocument } from "./dockerfile-document.ts";
import { plainDockerfile } from "./plain-dockerfile.ts";

/** Bound of the text that takes the file's place, with its documents: the step's frame holds the script and
 *  all else, too. */
const TEXT_MAX_BYTES = 24 * 1024;

/** Longer ones are left as they are. */
export const DOCKERFILE_FILE_MAX_BYTES = 64 * 1024;

type Env = Readonly<Record<string, string>>;

/** As the lists of a step. */
export function documentLists(documents: readonly DockerfileDocument[]): {
  readonly DOCUMENT: readonly string[];
  readonly PLACE: readonly string[];
  readonly MODE: readonly string[];
} {
  return {
    DOCUMENT: documents.map(({ text }) => text),
    PLACE: documents.map(({ path }) => path),
    MODE: documents.map(({ isProgram }) => (isProgram ? "755" : "644")),
  };
}

/** Whether it builds the file that the context has. */
export function readsDockerfile({ kind, env }: { readonly kind: string; readonly env: Env }): boolean {
  return kind === "dockerfile" && env["STEP_TEXT"] === "";
}

/** The environment of such a step for this text of its file. Throws `invalid_build` with the line of what
 *  builds do not have. */
export function withDockerfile(env: Env, text: string): Env {
  const file = env["STEP_FILE"] ?? "Dockerfile";
  const from = env["STEP_FROM"] ?? "";
  const config = { env: pairs(env, "ENV"), user: null, workdir: env["STEP_WORKDIR"] ?? "/" };
  const template = from === "" ? undefined : { name: from, config };
  const plain = plainDockerfile(text, { file, args: pairs(env, "ARG"), template });
  if (plain.text === text) return env;
  const documents = plain.instructions.flatMap((one) => one.documents);
  const bytes = Buffer.byteLength(JSON.stringify([plain.text, documents]));
  if (bytes > TEXT_MAX_BYTES)
    throw new SkerryError(
      "invalid_build",
      `${file} has ${bytes} bytes where its documents and mounts are filled in, and may have ${TEXT_MAX_BYTES}.`,
      { remediation: "Put long documents into files of the context, and copy those." },
    );
  const { DOCUMENT, PLACE, MODE } = documentLists(documents);
  return {
    ...env,
    STEP_TEXT: plain.text,
    STEP_DOCUMENTS: String(documents.length),
    ...numbered("DOCUMENT", DOCUMENT),
    ...numbered("PLACE", PLACE),
    ...numbered("MODE", MODE),
  };
}

function numbered(name: string, values: readonly string[]): Env {
  return Object.fromEntries(values.map((value, index) => [`STEP_${name}_${index}`, value]));
}

/** `NAME=VALUE` of a list. */
function pairs(env: Env, list: string): Env {
  const all = Array.from(
    { length: Number(env[`STEP_${list}S`] ?? 0) },
    (_, at) => env[`STEP_${list}_${at}`] ?? "",
  );
  return Object.fromEntries(
    all.map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]),
  );
}
