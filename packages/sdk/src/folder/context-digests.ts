// Digests of what will be sent as the context of a build. The builder computes them again from what comes.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readlink } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { contextDigest, type ContextEntry } from "@skerry/build-plan/plan/context-digest";
import { pathOfName } from "./byte-names.ts";
import type { Item } from "./tar-writer.ts";

/** Of those paths that have one. */
export async function contextDigests(
  inputs: readonly string[],
  items: readonly Item[],
): Promise<Record<string, string>> {
  const entries: ContextEntry[] = [];
  for (const item of items) entries.push(await entryOf(item));
  const found = [...new Set(inputs)].map((input) => [input, contextDigest(input, entries)] as const);
  return Object.fromEntries(
    found.flatMap(([input, digest]) => (digest === undefined ? [] : [[input, digest]])),
  );
}

async function entryOf({ path, name, stats }: Item): Promise<ContextEntry> {
  if (stats.isSymbolicLink()) return { kind: "link", path: name, target: await readlink(pathOfName(path)) };
  if (stats.isDirectory()) return { kind: "folder", path: name, mode: stats.mode };
  const hash = createHash("sha256");
  await pipeline(createReadStream(pathOfName(path)), hash);
  return { kind: "file", path: name, mode: stats.mode, sha256: hash.digest("hex") };
}
