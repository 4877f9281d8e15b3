// The dashboard that this installation was built with: one page, and what it loads, each file under a name with a hash of its content. They are
// read once, before the process gives up root, and are in memory from then on, so no path in a request reaches a file.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

const encodings = { br: ".br", gzip: ".gz" } as const;
export type Encoding = keyof typeof encodings;

export interface Asset {
  /** Of its content, as HTTP says it. */
  readonly type: string;
  readonly content: Buffer;
  /** Where it is smaller. */
  readonly encoded: ReadonlyMap<Encoding, Buffer>;
}

export interface DashboardFiles {
  readonly page: Asset;
  /** Of the page. */
  readonly etag: string;
  /** By their names. */
  readonly assets: ReadonlyMap<string, Asset>;
}

/** Undefined without a folder, and where the folder has no page or cannot be read: the API does not depend on it. */
export function readDashboardFiles(folder: string | undefined): DashboardFiles | undefined {
  if (folder === undefined) return undefined;
  try {
    const page = readAsset(folder, "index.html", "text/html; charset=utf-8");
    const below = join(folder, "assets");
    const names = readdirSync(below).filter((name) => types[extname(name)] !== undefined);
    const assets = names.map((name) => [name, readAsset(below, name, types[extname(name)] ?? "")] as const);
    const etag = `"${createHash("sha256").update(page.content).digest("hex")}"`;
    return { page, etag, assets: new Map(assets) };
  } catch {
    return undefined;
  }
}

function readAsset(folder: string, name: string, type: string): Asset {
  const content = readFileSync(join(folder, name));
  const beside = new Set(readdirSync(folder));
  const encoded = Object.entries(encodings).flatMap(([encoding, suffix]): [Encoding, Buffer][] =>
    beside.has(name + suffix) ? [[encoding as Encoding, readFileSync(join(folder, name + suffix))]] : [],
  );
  return { type, content, encoded: new Map(encoded) };
}
