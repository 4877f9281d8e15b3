// Clients to hand out, as a build makes them but small, with the installer as it is.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CLIENT_VERSION,
  fileNameOf,
  readClientFiles,
  type ClientFiles,
} from "../../src/clients/client-files.ts";

const INSTALLER = new URL("../../../../setup/clients/install.sh", import.meta.url);

/** It says its version, as the real one does. */
const PROGRAM = `#!/usr/bin/env node\nif (process.argv[2] === "--version") console.log("${CLIENT_VERSION}");\n`;

export function handedOut(): ClientFiles {
  const folder = mkdtempSync(join(tmpdir(), "skerry-handed-out-"));
  const write = (client: Parameters<typeof fileNameOf>[0], content: string | Buffer) =>
    writeFileSync(join(folder, fileNameOf(client)), content);
  try {
    write("sdk", "the SDK");
    write("cliPackage", "the command line as a package");
    write("cli", PROGRAM);
    write("wheel", "the Python client");
    write("installer", readFileSync(INSTALLER));
    return readClientFiles(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
