// `/files` in a sandbox: a file down, and files up. Both ways the bytes pass through; nothing here holds a file.

import { posix } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import type { FastifyRequest } from "fastify";
import { E2B_UPLOAD_MAX_BYTES } from "@skerry/contract/bounds";
import type { FileAttributes } from "@skerry/contract/vms/file-attributes";
import { SkerryError } from "@skerry/contract/errors";
import { Type } from "typebox";
import type { Context } from "../context.ts";
import { BYTES } from "../http/octet-stream-bodies.ts";
import { noneOf, rangeOf, sendPart } from "../vms/files/byte-range.ts";
import { downloadFile, uploadFile } from "../vms/files/files.ts";
import { checker } from "./checked-body.ts";
import { resolvePath } from "./command-line.ts";
import { sandboxCallOf, type SandboxCall } from "./sandbox-call.ts";
import type { E2bHandler } from "./e2b-routes.ts";
import { encodedPathOf } from "./entry-info.ts";
import { attributesOf, metadataOf } from "./file-metadata.ts";
import { filesOf } from "./form-files.ts";
import { ensureParent } from "./filesystem-service.ts";
import { giveTo } from "./guest-shell.ts";
import { guestUser } from "./guest-users.ts";
import type { GuestUser } from "./known-users.ts";

const readQuery = checker(
  Type.Object(
    {
      path: Type.Optional(Type.String({ minLength: 1, maxLength: 20_000 })),
      username: Type.Optional(Type.String({ maxLength: 100 })),
      // Whoever sends these has been let in by them.
      signature: Type.Optional(Type.String()),
      signature_expiration: Type.Optional(Type.String()),
    },
    { additionalProperties: false },
  ),
  "querystring",
);

export const download: E2bHandler = async (context, request, reply) => {
  const call = sandboxCallOf(request, reply);
  const { path, username } = readQuery(request.query);
  if (path === undefined) throw noPath();
  const user = await guestUser(context, call, username);
  const resolved = resolvePath(path, user);
  const params = { ...call, encodedPath: encodedPathOf(resolved) };
  const file = await downloadFile(context, call.caller, params).catch((error: unknown) => {
    throw inTheirWords(error, resolved);
  });
  void reply.header("x-content-type-options", "nosniff").type(BYTES);
  const disposition = `inline; filename*=UTF-8''${encodeURIComponent(posix.basename(path)).replaceAll("'", "%27")}`;
  void reply.header("content-disposition", disposition).header("vary", "Accept-Encoding");
  const { sizeBytes } = file;
  const range = sizeBytes === undefined ? undefined : rangeOf(request.headers, sizeBytes);
  if (range === "none") {
    file.content.on("error", () => undefined).destroy();
    void reply.code(416).header("content-range", `bytes */${sizeBytes}`).type("application/json");
    return reply.send(JSON.stringify({ code: 416, message: noneOf(sizeBytes ?? 0) }));
  }
  if (range !== undefined)
    return sendPart(reply, { range, sizeBytes: sizeBytes ?? 0, content: file.content });
  if (sizeBytes !== undefined) void reply.header("accept-ranges", "bytes");
  if (request.headers["accept-encoding"]?.trim() === "gzip")
    return reply.header("content-encoding", "gzip").send(gzipped(file.content));
  if (sizeBytes !== undefined) void reply.header("content-length", sizeBytes);
  return reply.send(file.content);
};

/** Programs read this message. */
function inTheirWords(error: unknown, path: string): unknown {
  if (!(error instanceof SkerryError) || error.code !== "file_not_found") return error;
  return new SkerryError("file_not_found", `path '${path}' does not exist`, { cause: error });
}

/** For a client that takes nothing else: on the way to one that also takes the bytes themselves it would only cost time. */
function gzipped(content: Readable): Readable {
  const packed = createGzip({ level: 1 });
  void pipeline(content, packed).catch(() => undefined); // its reader hears of it
  return packed;
}

interface Written {
  readonly name: string;
  readonly path: string;
  readonly type: "file";
  /** Absent where there is none. */
  readonly metadata?: Readonly<Record<string, string>>;
}

export const upload: E2bHandler = async (context, request, reply) => {
  const call = sandboxCallOf(request, reply);
  const { path, username } = readQuery(request.query);
  const user = await guestUser(context, call, username);
  const to: Target = { context, call, user, path, attributes: attributesOf(request.raw.rawHeaders) };
  const type = request.headers["content-type"] ?? "";
  const written = /^multipart\/form-data\b/i.test(type)
    ? await uploadForm(to, request)
    : [await uploadOne(to, contentOf(request))];
  return reply.code(200).send(written);
};

interface Target {
  readonly context: Context;
  readonly call: SandboxCall;
  readonly user: GuestUser;
  /** As the client names it. */
  readonly path: string | undefined;
  /** Of all files of the request. */
  readonly attributes: FileAttributes | undefined;
}

/** The file is the user's, and so are the directories that were made for it. */
async function uploadOne(
  { context, call, user, path: asked, attributes }: Target,
  content: AsyncIterable<Buffer>,
): Promise<Written> {
  if (asked === undefined) throw noPath();
  const path = resolvePath(asked, user);
  const isRoot = user.uid === 0;
  if (!isRoot) await ensureParent(context, { call, user, path });
  const params = {
    ...call,
    encodedPath: encodedPathOf(path),
    mode: undefined,
    attributes,
    maxBytes: E2B_UPLOAD_MAX_BYTES,
    sizeBytes: undefined,
    content,
  };
  await uploadFile(context, call.caller, params);
  if (!isRoot) await giveTo(context, call, { path, user });
  const written = { name: posix.basename(path), path, type: "file" } as const;
  return attributes === undefined ? written : { ...written, metadata: metadataOf(attributes) };
}

/** What the client has sent, unpacked where it says that it is packed. */
function contentOf({ raw, headers }: FastifyRequest): AsyncIterable<Buffer> {
  const encoding = headers["content-encoding"] ?? "identity";
  // Leaving the loop must not destroy the connection: the answer still has to go out.
  const sent = raw.iterator({ destroyOnReturn: false });
  if (encoding === "identity") return sent;
  if (encoding !== "gzip")
    throw new SkerryError(
      "bad_request",
      `The encoding "${encoding.slice(0, 50)}" is not supported; gzip is.`,
    );
  return unpacked(Readable.from(sent));
}

async function* unpacked(sent: Readable): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const fed = pipeline(sent, gunzip);
  fed.catch(() => undefined); // heard of when it is read
  try {
    yield* gunzip as AsyncIterable<Buffer>;
    await fed;
  } catch (error) {
    if ((error as { readonly code?: string }).code?.startsWith("Z_") !== true) throw error;
    throw new SkerryError("bad_request", "The body is not what gzip writes.", { cause: error });
  }
}

/** Each part named `file` is one, and its file name is its path unless the query has one. They are written one after the other, as they come. */
async function uploadForm(to: Target, request: FastifyRequest): Promise<Written[]> {
  const written: Written[] = [];
  const parts = filesOf(request);
  for await (const { name, content } of parts)
    written.push(await uploadOne({ ...to, path: to.path ?? name }, content));
  if (written.length === 0) throw new SkerryError("bad_request", "The form has no file.");
  return written;
}

function noPath(): SkerryError {
  return new SkerryError("bad_request", 'The query has no "path".');
}
