// More small apps, which have packages: real ones of the npm registry, fetched by this machine's npm as it is configured, and wheels that are made
// here. They are files of the app, so that a build of it needs no network.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { zipSync } from "fflate";

const run = promisify(execFile);

export interface AnsweringApp {
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** What a path answers, once the app runs: a part of its body. */
  readonly answers: Readonly<Record<string, string>>;
}

/** As `npm pack` fetches them from the registry. */
async function packagesOf(...specs: readonly string[]): Promise<Uint8Array[]> {
  const folder = await mkdtemp(join(tmpdir(), "skerry-packages-"));
  try {
    await run("npm", ["pack", ...specs, "--pack-destination", folder], { timeout: 120_000 });
    const files = specs.map((spec) => join(folder, `${spec.replace("@", "-")}.tgz`));
    return await Promise.all(files.map((file) => readFile(file)));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A wheel of one module, which says this. */
function wheelOf(name: string, says: string): Uint8Array {
  const info = `${name}-1.0.dist-info`;
  const files = {
    [`${name}.py`]: `def greeting():\n    return b"${says}"\n`,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`,
    [`${info}/WHEEL`]: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    [`${info}/RECORD`]: `${name}.py,,\n${info}/METADATA,,\n${info}/WHEEL,,\n${info}/RECORD,,\n`,
  };
  return zipSync(Object.fromEntries(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])));
}

const json = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`;

const nodeServer = (text: string): string =>
  `require("node:http").createServer((_, response) => response.end(String(${text}))).listen(process.env.PORT);\n`;

const pythonServer = (says: string, before = ""): string => `${before}import os
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(${says})


HTTPServer(("0.0.0.0", int(os.environ["PORT"])), Handler).serve_forever()
`;

const fromWheel = (name: string): string => pythonServer("greeting()", `from ${name} import greeting\n`);
const WHEEL = "greeting-1.0-py3-none-any.whl";

/** Of the built-in template that each stands on. */
export async function answeringApps(template: string): Promise<Readonly<Record<string, AnsweringApp>>> {
  return template === "node" ? nodeApps() : template === "python" ? pythonApps() : staticApps;
}

const none = new Uint8Array();

async function nodeApps(): Promise<Readonly<Record<string, AnsweringApp>>> {
  const [isNumber = none, milliseconds = none, picocolors = none] = await packagesOf(
    "is-number@7.0.0",
    "ms@2.1.3",
    "picocolors@1.1.1",
  );
  return {
    "a package of the registry": {
      files: {
        "package.json": json({
          dependencies: { "is-number": "file:packages/is-number.tgz" },
          scripts: { start: "node server.js" },
        }),
        "packages/is-number.tgz": isNumber,
        "server.js": nodeServer('require("is-number")("7")'),
      },
      answers: { "/": "true" },
    },
    "two packages, and a build that needs one": {
      files: {
        "package.json": json({
          dependencies: { ms: "file:ms.tgz" },
          devDependencies: { picocolors: "file:picocolors.tgz" },
          scripts: { build: "node build.js", start: "node made.js" },
        }),
        "ms.tgz": milliseconds,
        "picocolors.tgz": picocolors,
        "build.js": `require("picocolors");\nrequire("node:fs").copyFileSync("source.js", "made.js");\n`,
        "source.js": nodeServer('require("ms")("2 days")'),
      },
      answers: { "/": "172800000" },
    },
    "a package and a postinstall": {
      files: {
        "package.json": json({
          dependencies: { ms: "file:ms.tgz" },
          scripts: { postinstall: "node make.js" },
        }),
        "ms.tgz": milliseconds,
        "make.js": `require("node:fs").writeFileSync("index.js", ${JSON.stringify(nodeServer('"made by " + require("ms")(60000)'))});\n`,
        "index.js": "",
      },
      answers: { "/": "made by 1m" },
    },
    "a range of Node that the template has": {
      files: { "package.json": json({ engines: { node: ">=18" } }), "server.js": nodeServer('"of 18"') },
      answers: { "/": "of 18" },
    },
    "an app of modules": {
      files: {
        "package.json": json({ type: "module", main: "app.js" }),
        "app.js":
          'import { createServer } from "node:http";\ncreateServer((_, response) => response.end("modules")).listen(process.env.PORT);\n',
      },
      answers: { "/": "modules" },
    },
  };
}

async function pythonApps(): Promise<Readonly<Record<string, AnsweringApp>>> {
  return {
    "a wheel": {
      files: {
        "requirements.txt": `./${WHEEL}\n`,
        [WHEEL]: wheelOf("greeting", "from a wheel"),
        "main.py": fromWheel("greeting"),
      },
      answers: { "/": "from a wheel" },
    },
    "a wheel by a list of another list": {
      files: {
        "requirements.txt": "-r base.txt\n",
        "base.txt": `./wheels/${WHEEL}\n`,
        [`wheels/${WHEEL}`]: wheelOf("greeting", "from a list"),
        "server.py": fromWheel("greeting"),
      },
      answers: { "/": "from a list" },
    },
    "a wheel and a Procfile": {
      files: {
        "requirements.txt": `greeting @ file:///app/${WHEEL}\n`,
        [WHEEL]: wheelOf("greeting", "as the Procfile says"),
        "serve.py": fromWheel("greeting"),
        "app.py": "",
        Procfile: "web: python3 serve.py\n",
      },
      answers: { "/": "as the Procfile says" },
    },
    "an application without requirements": {
      files: { "application.py": pythonServer('b"application"') },
      answers: { "/": "application" },
    },
  };
}

const staticApps: Readonly<Record<string, AnsweringApp>> = {
  "a page with folders": {
    files: {
      "index.html": "<h1>first</h1>",
      "docs/index.html": "<h1>docs</h1>",
      "a/b.css": "a { color: red }",
    },
    answers: { "/": "first", "/docs/": "docs", "/a/b.css": "color: red" },
  },
  "a page in dist with what it needs": {
    files: { "dist/index.html": "<h1>made</h1>", "dist/app.js": "console.log(1)" },
    answers: { "/": "made", "/app.js": "console.log(1)", "/a/path": "made" },
  },
};
