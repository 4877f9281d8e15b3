// What cells import and require: as from a file in the folder of their context.

"use strict";

const { createRequire } = require("module");
const { join } = require("path");
const { pathToFileURL } = require("url");

const file = join(process.cwd(), "cell.js");
const fileUrl = pathToFileURL(file).href;
const requireHere = createRequire(file);

/** What `import` is called in a cell that was made a script. */
const IMPORT = "__import";

function installModules() {
  const load = async (specifier) => import(await resolve(String(specifier)));
  load.meta = { url: fileUrl };
  const module = { exports: {} };
  const globals = { [IMPORT]: load, require: requireHere, module, exports: module.exports };
  Object.assign(globals, { __filename: file, __dirname: process.cwd() });
  for (const [name, value] of Object.entries(globals))
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

async function resolve(specifier) {
  // As `require` does, which finds a file without its extension too.
  if (/^\.{0,2}\//.test(specifier)) return pathToFileURL(requireHere.resolve(specifier)).href;
  const { resolveImport } = await import("./resolve.mjs");
  return resolveImport(specifier, fileUrl);
}

module.exports = { IMPORT, installModules };
