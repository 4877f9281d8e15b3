// The clients as their users get them: packed, installed into an empty folder without a network, compiled with their compilers, and run.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shellServer } from "../packages/sdk/tests/support/shell-server.ts";
import { ScriptedServer, sendJson } from "../packages/sdk/tests/support/scripted-server.ts";
import { clientTools } from "../tests/support/client-tools.ts";
import { buildClients } from "./clients/build-clients.ts";
import { linksOf } from "./clients/packed-readme.ts";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "..");
const users = join(import.meta.dirname, "clients/users");
let folder: string;
let clients: string;
/** A user's project, in which the SDK is installed. */
let project: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-clients-"));
  clients = join(folder, "clients");
  project = join(folder, "project");
  await buildClients(clients);
  await mkdir(project);
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  await npm("install", await clientFile(/^skerry-sdk-.*\.tgz$/));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function clientFile(name: RegExp): Promise<string> {
  const found = (await readdir(clients)).filter((file) => name.test(file));
  expect(found).toHaveLength(1);
  return join(clients, found[0] ?? "");
}

/** Without a network, so that nothing comes but what is in the package. */
async function npm(...args: readonly string[]): Promise<void> {
  await execute("npm", [...args, "--offline", "--no-audit", "--no-fund"], { cwd: project });
}

/** Every Node that users may have and this machine has. */
async function nodes(): Promise<readonly string[]> {
  const { stdout } = await execute("/usr/bin/node", ["--version"]).catch(() => ({ stdout: "v0" }));
  return Number(/\d+/.exec(stdout)?.[0]) >= 20 ? [process.execPath, "/usr/bin/node"] : [process.execPath];
}

/** Without the settings of the user who runs the tests. */
function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: folder, ...more };
}

test("the same checkout makes the same bytes", async () => {
  const again = join(folder, "again");
  await buildClients(again);
  expect((await readdir(again)).toSorted()).toEqual((await readdir(clients)).toSorted());
  for (const name of await readdir(again))
    expect((await readFile(join(again, name))).equals(await readFile(join(clients, name))), name).toBe(true);
});

test("the packages need no other one", async () => {
  expect(await readdir(join(project, "node_modules"))).toEqual([".package-lock.json", "@skerry"]);
  const types = await readFile(join(project, "node_modules/@skerry/sdk/skerry.d.ts"), "utf8");
  expect(types).not.toMatch(/^\s*import\b|from "|typebox|\bTObject\b/m);
});

test("the links of the packed description lead to what its reader has", async () => {
  const sdk = join(project, "node_modules/@skerry/sdk");
  const readme = await readFile(join(sdk, "README.md"), "utf8");
  expect(readme).toContain("/sdk.tgz");
  const files = linksOf(readme).filter((link) => !/^https?:/.test(link));
  expect(files.filter((link) => !existsSync(join(sdk, link)))).toEqual([]);
});

describe("programs that use the SDK compile, and their mistakes do not", () => {
  const strict = { strict: true, target: "es2022", skipLibCheck: false, noEmit: true, types: [] };
  const settings: readonly (readonly [string, object])[] = [
    ["nodenext", { module: "nodenext" }],
    ["bundler", { module: "esnext", moduleResolution: "bundler" }],
    ["nodenext without a DOM", { module: "nodenext", ...withNodeTypes() }],
    ["nodenext and every further check", { module: "nodenext", ...everyCheck }],
  ];

  test.each(
    ["5.9", "7"].flatMap((version) => settings.map(([name, options]) => ({ version, name, options }))),
  )("TypeScript $version, $name", async ({ version, options }) => {
    await copyFile(join(users, "program.ts"), join(project, "program.ts"));
    await compile(version, { ...strict, ...options }, "program.ts");
  });

  test("their types are those of the contract", async () => {
    await copyFile(join(users, "same-types.ts"), join(project, "same-types.ts"));
    const paths = { "@skerry/contract/*": [join(root, "packages/contract/src/*.ts")] };
    const ours = {
      allowImportingTsExtensions: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: true,
      paths,
    };
    await compile("7", { ...strict, ...withNodeTypes(), module: "nodenext", ...ours }, "same-types.ts");
  });
});

test("nothing is in the clients that Node 20 has not", async () => {
  // What its JavaScript engine has of ES2024, and what esbuild translates.
  const lib = ["es2023", "es2024.string", "esnext.disposable"];
  const tsconfig = join(folder, "tsconfig.json");
  const files = ["packages/sdk/src/skerry.ts", "packages/cli/src/client-main.ts"].map((file) =>
    join(root, file),
  );
  const compilerOptions = { lib, typeRoots: [join(root, "node_modules/@types")] };
  await writeFile(
    tsconfig,
    JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions, include: [], files }),
  );
  await runCompiler(join(root, "node_modules/.bin/tsc"), tsconfig);
});

const everyCheck = {
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noImplicitOverride: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
};

function withNodeTypes(): object {
  return { lib: ["es2022"], types: ["node"], typeRoots: [join(root, "node_modules/@types")] };
}

/** Throws with what the compiler said. */
async function compile(version: string, compilerOptions: object, file: string): Promise<void> {
  const tsconfig = join(project, "tsconfig.json");
  await writeFile(tsconfig, JSON.stringify({ compilerOptions, files: [file] }));
  const compiler =
    version === "7" ? join(root, "node_modules/.bin/tsc") : (await clientTools()).program("tsc");
  const { stdout } = await execute(compiler, ["--version"]);
  expect(stdout).toContain(`Version ${version}.`);
  await runCompiler(compiler, tsconfig);
}

async function runCompiler(compiler: string, tsconfig: string): Promise<void> {
  await execute(compiler, ["-p", tsconfig]).catch((error: unknown) => {
    throw new Error((error as { stdout: string }).stdout, { cause: error });
  });
}

test("the SDK runs on every Node here, as a module and required, with the settings of its environment", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, { items: [] }));
  await writeFile(
    join(project, "run.mjs"),
    `import { Skerry } from "@skerry/sdk"; console.log((await new Skerry().sizes.list()).length);`,
  );
  await writeFile(
    join(project, "run.cjs"),
    `const { Skerry } = require("@skerry/sdk"); new Skerry().sizes.list().then(({ length }) => console.log(length));`,
  );
  const env = environment({ SKERRY_API_URL: server.baseUrl, SKERRY_API_TOKEN: "sk_env" });
  for (const node of await nodes())
    for (const program of ["run.mjs", "run.cjs"]) {
      const { stdout } = await execute(node, [program], { cwd: project, env });
      expect([stdout, server.last.headers.authorization], `${node} ${program}`).toEqual([
        "0\n",
        "Bearer sk_env",
      ]);
      const failed = execute(node, [program], { cwd: project, env: environment() });
      await expect(failed).rejects.toThrow("There is no API token for http://127.0.0.1:7070.");
    }
});

test("SDK and command line have a terminal on every Node here, also where Node has no WebSocket", async () => {
  await using server = await shellServer();
  const shell = `const shell = await new Skerry().sandboxes.shell("web"); for await (const { data } of shell) process.stdout.write(data); process.exitCode = shell.exitCode;`;
  await writeFile(join(project, "shell.mjs"), `import { Skerry } from "@skerry/sdk"; ${shell}`);
  await writeFile(
    join(project, "shell.cjs"),
    `const { Skerry } = require("@skerry/sdk"); (async () => { ${shell} })();`,
  );
  const cli = join(folder, "skerry-shell");
  await copyFile(await clientFile(/^skerry\.cjs$/), cli);
  const env = environment({ SKERRY_API_URL: server.baseUrl, SKERRY_API_TOKEN: "sk_env" });
  for (const node of await nodes())
    for (const words of [["shell.mjs"], ["shell.cjs"], [cli, "sandbox", "shell", "web"]]) {
      const ended = execute(node, words, { cwd: project, env });
      await expect(ended, `${node} ${words.join(" ")}`).rejects.toMatchObject({
        ...{ code: 7, stdout: "hello\n", stderr: "" },
      });
      expect(server.offered.pop()).toContain(Buffer.from("sk_env").toString("base64url"));
    }
});

test("the package of the SDK has the licence of what is bundled into it", async () => {
  const text = await readFile(join(project, "node_modules/@skerry/sdk/skerry.node.js"), "utf8");
  expect(text).toMatch(/^ws \d.*\n\n.*[^]*Permission is hereby granted/m);
});

test("in a browser's bundle nothing of Node is left, and it runs where there is none", async () => {
  const entry = 'import { Skerry } from "@skerry/sdk"; globalThis.Skerry = Skerry;';
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: project },
    ...{ bundle: true, platform: "browser", format: "iife", target: "es2022", write: false },
  });
  const text = outputFiles[0]?.text ?? "";
  expect(text).not.toMatch(/"node:|\bprocess\.|\brequire\(|readFileSync/);
  const asked: string[] = [];
  const fetch = async (url: string) => {
    asked.push(url);
    return Response.json({ status: "healthy" });
  };
  const web = { URL, URLSearchParams, AbortController, TextDecoder, setTimeout, clearTimeout, fetch };
  const context = createContext({ ...web });
  runInContext(text, context);
  await runInContext('new Skerry({ baseUrl: "https://skerry.test", token: "sk_0" }).health()', context);
  expect(asked).toEqual(["https://skerry.test/v1/health"]);
  expect(() => void runInContext('new Skerry({ baseUrl: "https://skerry.test" })', context)).toThrow(
    "There is no API token for https://skerry.test.",
  );
});

test("the command line runs on every Node here, installed by npm and as one file", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, { items: [] }));
  const prefix = join(folder, "global");
  await npm("install", "--global", "--prefix", prefix, await clientFile(/^skerry-\d.*\.tgz$/));
  const file = join(folder, "skerry");
  await copyFile(await clientFile(/^skerry\.cjs$/), file);
  const env = environment({ SKERRY_API_URL: server.baseUrl, SKERRY_API_TOKEN: "sk_env" });
  for (const node of await nodes())
    for (const program of [join(prefix, "bin/skerry"), file]) {
      expect((await execute(node, [program, "--version"], { env })).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
      expect((await execute(node, [program, "size", "list"], { env })).stdout).toMatch(/^NAME/);
      await expect(execute(node, [program, "up"], { env })).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringContaining("(not_in_client)") as string,
      });
    }
});

test("the command line says which packages are in it, with their licences", async () => {
  const text = await readFile(await clientFile(/^skerry\.cjs$/), "utf8");
  for (const name of ["commander", "picocolors", "yocto-spinner"])
    expect(text).toMatch(new RegExp(`^${name} \\d.*\\n\\n.*(MIT|ISC)`, "m"));
});
