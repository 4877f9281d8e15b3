// The clients that this installation was built with. They are read once, before the process gives up root, because only root may be able to enter
// the folder; from then on they are in memory, some hundred KiB in all.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };

export const CLIENT_VERSION = packageJson.version;

const types = {
  archive: "application/gzip",
  program: "text/javascript; charset=utf-8",
  wheel: "application/octet-stream",
  script: "text/x-shellscript; charset=utf-8",
} as const;

/** By what they are, their names in the folder, which are those of their package managers. */
const clients = {
  sdk: { name: `skerry-sdk-${CLIENT_VERSION}.tgz`, type: types.archive },
  cliPackage: { name: `skerry-${CLIENT_VERSION}.tgz`, type: types.archive },
  cli: { name: "skerry.cjs", type: types.program },
  wheel: { name: `skerry-${CLIENT_VERSION}-py3-none-any.whl`, type: types.wheel },
  /** With places for what only the server knows. */
  installer: { name: "install.sh", type: types.script },
} as const;

export type ClientName = keyof typeof clients;

export interface ClientFile {
  readonly name: string;
  /** Of its content, as HTTP says it. */
  readonly type: string;
  readonly content: Buffer;
  /** As hexadecimal digits. */
  readonly sha256: string;
}

/** What was not built is absent. */
export type ClientFiles = { readonly [Name in ClientName]?: ClientFile };

/** Those of the folder; without one, none. A file that cannot be read is absent too: the API does not depend on it. */
export function readClientFiles(folder: string | undefined): ClientFiles {
  if (folder === undefined) return {};
  const found = Object.entries(clients).flatMap(([client, { name, type }]): [string, ClientFile][] => {
    const content = contentOf(join(folder, name));
    if (content === undefined) return [];
    return [[client, { name, type, content, sha256: createHash("sha256").update(content).digest("hex") }]];
  });
  return Object.fromEntries(found);
}

function contentOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/** The name that its file would have. */
export function fileNameOf(client: ClientName): string {
  return clients[client].name;
}
