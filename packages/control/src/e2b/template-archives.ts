// Archives of files that E2B's clients send before a build begins, by the hash that they give them: kept in
// the database, where every replica finds them, until the build's microVM has them or an hour is over. The
// URL that takes one carries the right to send just that. The hash says nothing of what was sent, so only the
// token that has sent an archive finds it: no member puts other files under a colleague's hash.

import { hash as digest, randomUUID } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import { publicAddress } from "../http/public-address.ts";
import { addChunk, dropUpload, finishArchive, keepArchive } from "./template-store.ts";
import { sweepArchives } from "./sweep-archives.ts";
import { signUploadRight, type UploadRight } from "./upload-right.ts";

/** Of one archive, packed. */
const ARCHIVE_MAX_BYTES = 256 * 1024 * 1024;
/** Of all that an organization has here at once. */
const HELD_MAX_BYTES = 512 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const URL_LIFE_S = 3_600;
/** Rows that make room where a link is asked for; the service `sweeper` does the rest. */
const SWEPT_MAX = 1_000;

/** The name under which an archive of this token is kept. */
export function archiveName({ credentials, hash }: Pick<UploadRight, "credentials" | "hash">): string {
  return digest("sha256", `${credentials.secretSha256}\n${hash}`);
}

/** Whether it is there already, and where it may be sent. */
export async function uploadLink(
  context: Context,
  request: FastifyRequest,
  { credentials, hash }: Pick<UploadRight, "credentials" | "hash">,
): Promise<{ readonly present: boolean; readonly url: string }> {
  await sweepArchives(context.db, SWEPT_MAX);
  const expiresAtS = Math.floor(Date.now() / 1_000) + URL_LIFE_S;
  const code = await signUploadRight(context, { credentials, hash, expiresAtS });
  const query = new URLSearchParams({
    org: credentials.orgId,
    token: credentials.secretSha256,
    expires: String(expiresAtS),
    code,
  });
  return {
    present: await keepArchive(context.db, {
      orgId: credentials.orgId,
      hash: archiveName({ credentials, hash }),
    }),
    url: `${publicAddress(request)}/e2b/archives/${hash}?${query.toString()}`,
  };
}

/** Resolves when it is there whole. Throws `too_many_streams` where the organization sends too many at once. */
export async function takeArchive(
  { db, openArchives }: Context,
  right: Pick<UploadRight, "credentials" | "hash">,
  content: AsyncIterable<Buffer>,
): Promise<void> {
  const { orgId } = right.credentials;
  using _open = openArchives.take({ orgId }, { kind: { noun: "archive" }, id: right.hash });
  const upload = randomUUID();
  try {
    let index = 0;
    let bytes = 0;
    for await (const chunk of inChunks(content)) {
      bytes += chunk.length;
      const added = { orgId, upload, index: index++, content: chunk };
      if (bytes > ARCHIVE_MAX_BYTES || !(await addChunk(db, added, HELD_MAX_BYTES))) throw tooLarge();
    }
    if (bytes === 0) throw new SkerryError("bad_request", "The archive is empty: no bytes were sent.");
    await finishArchive(db, { orgId, hash: archiveName(right), upload });
  } catch (error) {
    await dropUpload(db, upload).catch(() => undefined); // forgotten after an hour otherwise
    throw error;
  }
}

async function* inChunks(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes < CHUNK_BYTES) continue;
    yield Buffer.concat(held);
    held = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(held);
}

function tooLarge(): SkerryError {
  return new SkerryError(
    "context_too_large",
    `An archive of files has at most ${ARCHIVE_MAX_BYTES} bytes, and those of an organization that wait for their builds ${HELD_MAX_BYTES} together.`,
  );
}
