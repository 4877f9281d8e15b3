// `npm run package`: one archive with everything that runs, Node itself too, for machines without a compiler and without npm. The same
// checkout and the same compiler make the same bytes.

import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildInto } from "./build-into.ts";
import { requiredGlibc } from "./required-glibc.ts";
import { licenceTexts, nodeLicence } from "./licences.ts";
import { packSame } from "./same-archive.ts";

/** Of Ubuntu 22.04, the oldest system that is supported. */
const OLDEST_GLIBC = "2.35";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({ options: { out: { type: "string", default: join(root, "dist") } } });
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const name = `skerry-${version}-linux-x64`;
// In the checkout, because source maps hold the way from here to the sources; two may be made at once.
mkdirSync(join(root, "dist"), { recursive: true });
const stage = mkdtempSync(join(root, "dist/package-"));

try {
  const tree = join(stage, name);
  await fill(tree);
  mkdirSync(values.out, { recursive: true });
  const archive = join(values.out, `${name}.tar.gz`);
  packSame(stage, name, archive);
  process.stdout.write(`${archive}\n`);
} finally {
  rmSync(stage, { recursive: true, force: true });
}

async function fill(tree: string): Promise<void> {
  const inputs = await buildInto(join(tree, "dist"));
  const { version: needed, file } = requiredGlibc(join(tree, "dist/native"));
  if (needed.localeCompare(OLDEST_GLIBC, "en", { numeric: true }) > 0)
    throw new Error(`${file} needs glibc ${needed}; Ubuntu 22.04 has ${OLDEST_GLIBC}`);
  const node = realpathSync(process.execPath);
  for (const [from, to] of [
    [node, "node/bin/node"],
    [nodeLicence(node), "node/LICENSE"],
    [join(root, "bin/skerry"), "bin/skerry"],
    [join(root, "setup/packages.sh"), "setup/packages.sh"],
    [join(root, "templates"), "templates"],
    [join(root, "packages/control/openapi.json"), "openapi.json"],
    [join(root, "README.md"), "README.md"],
    [join(root, "ARCHITECTURE.md"), "ARCHITECTURE.md"],
    [join(root, "docs"), "docs"],
    [join(root, "LICENSE"), "LICENSE"],
  ] as const)
    cpSync(from, join(tree, to), { recursive: true });
  writeFileSync(join(tree, "THIRD-PARTY-LICENCES.txt"), licenceTexts(root, inputs));
  chmodSync(join(tree, "node/bin/node"), 0o755);
}
