// `/files/compose` in a sandbox: files that are there already, as one. The clients send a large file in parts and put them together so.

import { posix } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import { Type } from "typebox";
import type { Context } from "../context.ts";
import { statFile } from "../vms/files/file-changes.ts";
import { checker } from "./checked-body.ts";
import { quoted, resolvePath } from "./command-line.ts";
import type { E2bHandler } from "./e2b-routes.ts";
import { encodedPathOf } from "./entry-info.ts";
import { ensureParent } from "./filesystem-service.ts";
import { composeFor } from "./guest-shell.ts";
import { guestUser } from "./guest-users.ts";
import { sandboxCallOf, type SandboxCall } from "./sandbox-call.ts";

/** So that their paths fit into one command. */
const SOURCES_MAX = 100;
const COMMAND_MAX_CHARS = 50_000;

const Path = Type.String({ minLength: 1, maxLength: 4_095 });
const readCompose = checker(
  Type.Object(
    {
      source_paths: Type.Array(Path, { minItems: 1, maxItems: SOURCES_MAX }),
      destination: Path,
      username: Type.Optional(Type.String({ maxLength: 100 })),
    },
    { additionalProperties: false },
  ),
  "body",
);

export const compose: E2bHandler = async (context, request, reply) => {
  const call = sandboxCallOf(request, reply);
  const asked = readCompose(await readJson(request.raw));
  const user = await guestUser(context, call, asked.username);
  const path = resolvePath(asked.destination, user);
  const sources = asked.source_paths.map((source) => resolvePath(source, user));
  if (sources.includes(path))
    throw new SkerryError("bad_request", "A source path cannot be the same as the destination.");
  if (sources.map(quoted).join(" ").length > COMMAND_MAX_CHARS)
    throw new SkerryError("bad_request", "The source paths are too long together.");
  for (const source of sources) await checkFile(context, call, source);
  await ensureParent(context, { call, user, path });
  await composeFor(context, call, { sources, path, user });
  return { path, name: posix.basename(path), type: "file" };
};

async function checkFile(context: Context, call: SandboxCall, path: string): Promise<void> {
  const params = { ...call, encodedPath: encodedPathOf(path), follow: true };
  const { type } = await statFile(context, call.caller, params);
  if (type !== "file") throw new SkerryError("path_not_file", `"${path}" is not a regular file.`);
}

const BODY_MAX_BYTES = 1024 * 1024;

async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > BODY_MAX_BYTES) throw new SkerryError("payload_too_large", "The body is too large.");
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch (error) {
    throw new SkerryError("bad_request", "The body is not JSON.", { cause: error });
  }
}
