// The document as this host keeps it: with addresses of other hosts, because the proxy and the machine's rules
// take no names.

import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EdgeDocument } from "@skerry/contract/host-api/edge";
import { Compile } from "typebox/compile";

/** Name of the file that keeps the document. */
export const STORED = "edge.json";
/** For a name server that does not answer. */
const LOOKUP_MS = 3_000;
const documentShape = Compile(EdgeDocument);

/** Puts IPv4 addresses in the place of names. A peer without one gets no requests until the next document. */
export async function withAddresses(document: EdgeDocument): Promise<EdgeDocument> {
  if (document.peers === undefined) return document;
  const found = await Promise.all(
    Object.entries(document.peers).map(async ([host, at]) => [host, await addressOf(at)] as const),
  );
  const peers = found.flatMap(([host, at]) => (at === undefined ? [] : [[host, at] as const]));
  return { ...document, peers: Object.fromEntries(peers) };
}

/** IPv4:PORT of NAME:PORT. */
async function addressOf(at: string): Promise<string | undefined> {
  const [, name = "", port] = /^(.+):(\d{1,5})$/.exec(at) ?? [];
  if (isIPv4(name)) return at;
  const late = sleep(LOOKUP_MS, undefined, { ref: false });
  const found = await Promise.race([lookup(name, { family: 4 }), late]).catch(() => undefined);
  return found === undefined ? undefined : `${found.address}:${port}`;
}

/** The document that a process before has stored; undefined: none that this version understands. */
export async function storedDocument(folder: string): Promise<EdgeDocument | undefined> {
  const text = await readFile(join(folder, STORED), "utf8").catch(() => "");
  const stored: unknown = parsed(text);
  return documentShape.Check(stored) ? stored : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
