// A client that others generate from the OpenAPI document: it compiles without a special option, and works.

import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clientTools, type ClientTools } from "../../../tests/support/client-tools.ts";
import { useWorld } from "./support/world.ts";

const execute = promisify(execFile);
const world = useWorld();
let tools: ClientTools;
let project: string;
beforeAll(async () => {
  tools = await clientTools();
  project = await mkdtemp(join(tmpdir(), "skerry-generated-client-"));
  await symlink(join(tools.folder, "node_modules"), join(project, "node_modules"));
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  const document = join(project, "openapi.json");
  await writeFile(document, JSON.stringify(world.server.app.swagger()));
  await tool("openapi-typescript", document, "-o", join(project, "skerry.ts"));
});
afterAll(() => rm(project, { recursive: true, force: true }));

/** Its output, also where it found faults. */
async function tool(name: string, ...args: readonly string[]): Promise<string> {
  const ran = await execute(process.execPath, [tools.program(name), ...args], { cwd: project }).catch(
    (error: unknown) => error as { stdout: string },
  );
  return ran.stdout;
}

/** What the compiler says of these programs, which it takes together: it takes seconds to begin. */
function compiled(...names: readonly string[]): Promise<string> {
  return tool("tsc", "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", ...names);
}

const calls = `
import createClient from "openapi-fetch";
import type { paths } from "./skerry.ts";

const [, , baseUrl, token] = process.argv;
declare const process: { argv: string[] };
const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\` } });

const created = await client.POST("/v1/sandboxes", { body: { template: "base" } });
if (created.error) throw new Error(created.error.message);
const path = { id: created.data.id };

const ran = await client.POST("/v1/sandboxes/{id}/execute", { params: { path }, body: { command: "pwd" } });
const code: number | undefined = ran.data?.exit_code;
const output: string | undefined = ran.data?.stdout;

const list = await client.GET("/v1/sandboxes", { params: { query: { status: "running" } } });
const names: (string | null)[] | undefined = list.data?.items.map((sandbox) => sandbox.name);

const file = { ...path, path: "work/a b.txt" };
const written = await client.PUT("/v1/sandboxes/{id}/files/{path}", {
  params: { path: file },
  body: new Blob(["hello"]),
  bodySerializer: (body) => body as Blob,
  headers: { "Content-Type": "application/octet-stream" },
});
const size: number | undefined = written.data?.size;

const read = await client.GET("/v1/sandboxes/{id}/files/{path}", { params: { path: file }, parseAs: "text" });
const content: string | undefined = read.data;

const got = await client.GET("/v1/sandboxes/{id}", { params: { path } });
const timeout: string | undefined = got.data?.timeout;

const minted = await client.POST("/v1/auth/tokens", { body: { name: "ci", expires_in: "1h" } });
const secret: string | undefined = minted.data?.token;

const machine = await client.POST("/v1/machines", { body: { template: "base", restart: { max_retries: 3 } } });
const policy: "no" | "on-failure" | "always" | undefined = machine.data?.restart.policy;

const missing = await client.GET("/v1/sandboxes/{id}", { params: { path: { id: "sbx_00000000000000000000000000" } } });
const refusal = missing.error?.code;
const isKnown = refusal === "sandbox_not_found";

console.log(JSON.stringify({ code, output, names, size, content, timeout, secret, policy, isKnown }));
`;

test("natural calls of a generated client compile under --strict without a special option, and mistakes do not", async () => {
  // Not of a creation: a VM may begin at a snapshot, so none of its fields has to be there.
  const misspelt = calls.replace("{ command:", "{ comand:");
  const missing = calls.replace('{ command: "pwd" }', "{}");
  for (const [name, program] of Object.entries({ calls, misspelt, missing }))
    await writeFile(join(project, `${name}.ts`), program);
  const faults = (await compiled("calls.ts", "missing.ts", "misspelt.ts")).split("\n").filter(Boolean);
  expect(faults.filter((line) => /^\S/.test(line)).toSorted()).toEqual([
    expect.stringMatching(/^missing\.ts/),
    expect.stringMatching(/^misspelt\.ts.*'comand' does not exist/),
  ]);
  expect(faults.join("\n")).toContain("Property 'command' is missing");
});

test("the calls of a generated client work", async () => {
  await writeFile(join(project, "calls.ts"), calls);
  const { stdout } = await execute(process.execPath, ["calls.ts", world.url, world.token], { cwd: project });
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ code: 0, names: [null], size: 5, timeout: "5m", policy: "on-failure", isKnown: true },
    secret: expect.stringMatching(/^sk_/),
  });
});
