// Every client makes the call that each operation documents, and gives what the API answers: the rows of
// `client-calls/`, in TypeScript, in both halves of the Python client and on the command line. What only a
// real microVM shows is in the end-to-end tests.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Skerry } from "@skerry/sdk";
import { commandNames } from "../../cli/tests/support/command-names.ts";
import { operations, type OperationId } from "../src/app/operations.ts";
import type { Call } from "./calls/call.ts";
import { calls } from "./calls/calls.ts";
import type { At, ClientCall, Kind, LeftOut } from "./client-calls/client-call.ts";
import { clientCalls } from "./client-calls/client-calls.ts";
import { generatedCalls, type GeneratedCall } from "./client-calls/generated-calls.ts";
import { documentedOperations } from "./support/api-document.ts";
import { CommandBatch, PythonBatch } from "./support/client-batches.ts";
import { RecordingProxy, type Exchange } from "./support/recording-proxy.ts";
import { sampledOperations } from "./support/sampled-operations.ts";
import { asJson, callsOf, methodsOf } from "./support/sdk-calls.ts";
import { eventually, useWorld } from "./support/world.ts";

const clients = {
  TypeScript: "sdk",
  Python: "python",
  asyncio: "python",
  "the command line": "cli",
  "skerry api": "api",
} as const;
type Client = keyof typeof clients;

// The document is made of the operations.
const documented = documentedOperations.map(([id]) => id as OperationId);

function rowOf(id: OperationId): ClientCall {
  return clientCalls[id] ?? {};
}

/** Whether such clients have the call: by a generated method, or as its row says, and not both. */
function isOfferedBy(id: OperationId, kind: Kind | "api"): boolean {
  const generated = generatedCalls.get(id);
  if (kind === "api") return generated !== undefined;
  const own = rowOf(id)[kind];
  if (kind === "cli" && own === undefined && generated !== undefined) return false;
  if (kind !== "cli" && (own === undefined) === (generated === undefined))
    throw new Error(`${id}: a call is either generated or in its row, and not both`);
  if (kind === "cli" && own === undefined) throw new Error(`${id}: the command line has no way to call it`);
  return own === undefined || typeof own !== "object";
}
const world = useWorld();
let proxy: RecordingProxy;
let skerry: Skerry;
let python: PythonBatch;
let commands: CommandBatch;

beforeAll(async () => {
  world.host.memoryMib = 1_000_000;
  world.host.cpus = 64;
  await world.beat();
  proxy = await RecordingProxy.before(world.url);
  const server = { url: proxy.url, token: world.token };
  skerry = new Skerry({ baseUrl: server.url, token: server.token });
  python = PythonBatch.start(server);
  commands = await CommandBatch.start(server);
});
// An organization may have fewer apps than the rows make together, and a page of a list has fewer still.
beforeEach(() => sql`delete from apps`.execute(world.db));
afterAll(async () => {
  await commands[Symbol.asyncDispose]();
  await python[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

function textOf(way: string | LeftOut | undefined): string {
  return typeof way === "string" ? way : "";
}

/** Ids of the operations that have a call in such clients. */
function offeredBy(kind: Kind | "api"): readonly OperationId[] {
  return documented.filter((id) => isOfferedBy(id, kind));
}

/** The parameters of the path, and the text fields of the body, of an operation's call. */
function aboutOf(id: OperationId, { path, body }: Call): At {
  const names = { id: "", execution: "", path: "", port: "", name: "", host: "", deploy: "" };
  const pattern = operations[id].path.replaceAll(/:(\w+)/g, "(?<$1>[^/]+)").replace("*", "(?<path>.*)");
  const found = new RegExp(`^${pattern}$`).exec(decodeURIComponent(path.replace(/\?.*/, "")))?.groups;
  const inPath = { ...names, template: "", tag: "", user_id: "", ...found };
  const said = { code: "", name: "", snapshot: "", template: "", ...(typeof body === "object" && body) };
  return { ...inPath, path: `/${inPath.path}`, body, said };
}

/** With what stands in the place of `{id}` and `{said.name}`. */
function filled(text: string, at: At, written: (value: string) => string): string {
  return text.replaceAll(/\{(said\.)?([a-z_]+)\}/g, (_, said, name) => {
    const values = (said === undefined ? at : at.said) as unknown as Readonly<Record<string, string>>;
    return written(values[name] ?? "");
  });
}

/** Result of the client. A command line gives what it prints, as JSON where JSON was asked for or where
 *  nothing else says what it gives. */
async function given(id: OperationId, client: Client, at: At): Promise<unknown> {
  const row = rowOf(id);
  const { api, sdk, python: expression } = { ...generatedCalls.get(id) };
  if (client === "TypeScript") return asJson(await (sdk ?? (row.sdk as GeneratedCall["sdk"]))(skerry, at));
  if (client === "skerry api") return printed(["api", ...(api?.(at) ?? [])], JSON.stringify(at.body ?? {}));
  if (client === "the command line") return printed(wordsOf(row, at), row.input ?? "");
  const half = client === "Python" ? "python" : "asyncio";
  return python.evaluate(half, expression?.(at) ?? filled(textOf(row.python), at, JSON.stringify));
}

function wordsOf({ cli }: ClientCall, at: At): readonly string[] {
  const words = textOf(cli).split(" ");
  return words.map((word) => filled(word, at, String));
}

/** Standard output of a command that succeeds, or the JSON that it is. */
async function printed(words: readonly string[], input: string): Promise<unknown> {
  const { code, stdout, stderr } = await commands.run({ words, input });
  expect({ code, stderr }, words.join(" ")).toMatchObject({ code: 0 });
  return stdout.startsWith("{") && !words.includes("export") ? (JSON.parse(stdout) as unknown) : stdout;
}

function isCall({ method, url }: Exchange, call: Call): boolean {
  return (
    method === call.method &&
    decodeURIComponent(url.pathname) === decodeURIComponent(call.path.split("?")[0] ?? "")
  );
}

/** The request is the documented one, with what the call says. */
function expectSent({ url, sent }: Exchange, { path, body }: Call): void {
  const asked = new URL(path, url).searchParams;
  expect(Object.fromEntries(url.searchParams)).toMatchObject(Object.fromEntries(asked));
  if (typeof body === "string") expect(sent).toBe(body);
  else if (body !== undefined) expect(JSON.parse(sent === "" ? "{}" : sent)).toMatchObject(body as object);
}

function expectedOf(
  row: ClientCall,
  kind: Kind | "api",
  { status, type, text }: Exchange,
  got: unknown,
): unknown {
  if (kind !== "api" && row.gives !== undefined && kind in row.gives) return row.gives[kind];
  if (status === 204) return kind === "api" ? "" : null;
  if (!type.startsWith("application/json")) return text;
  const answer = JSON.parse(text) as { readonly items?: unknown[]; readonly next_cursor?: string | null };
  // `skerry api` reads all pages, of which this is the first.
  if (kind === "api" && typeof answer.next_cursor === "string")
    return { items: expect.arrayContaining(answer.items ?? []), next_cursor: null };
  return Array.isArray(got) ? answer.items : answer;
}

/** The synchronous half of the Python client is made of the asynchronous one, and `skerry api` of the SDK's
 *  methods: a usual run samples their calls. */
function triedBy(client: Client): readonly OperationId[] {
  const offered = offeredBy(clients[client]);
  if (client !== "asyncio" && client !== "skerry api") return offered;
  const sampled = sampledOperations(client === "asyncio" ? "the asynchronous client" : client);
  return offered.filter((id) => sampled.has(id));
}

describe.each(Object.keys(clients) as Client[])("%s", (client) => {
  const kind = clients[client];
  test.each(triedBy(client))("calls %s as it is documented, and gives its answer", async (id) => {
    const row = rowOf(id);
    const call = await (row.prepare ?? calls[id])(world);
    const before = proxy.exchanges.length;
    const made = () => proxy.exchanges.slice(before).find((one) => isCall(one, call));
    const gives = given(id, client, aboutOf(id, call));
    if (row.meanwhile !== undefined) {
      await Promise.race([gives, eventually(() => (made()?.status ?? 0) > 0, "the request is answered")]);
      await row.meanwhile(world);
    }
    const got = await gives;
    const exchange = made();
    expect(exchange, `${call.method} ${call.path}`).toBeDefined();
    if (exchange === undefined) return;
    expectSent(exchange, call);
    expect(got).toEqual(expectedOf(row, kind, exchange, got));
  });
});

test("only operations of the document have a row", () => {
  const ids: readonly string[] = documented;
  expect(Object.keys(clientCalls).filter((id) => !ids.includes(id))).toEqual([]);
});

const collections = [
  "audit",
  "builds",
  "cache",
  "executions",
  "hosts",
  "moves",
  "organizations",
  "snapshots",
  "tokens",
];
const watched = [
  "apps",
  "backgroundServices",
  "builds",
  "hosts",
  "machines",
  "moves",
  "sandboxes",
  "snapshots",
  "templates",
];
const vmMethods = ["list", "listDirectory", "executeStream", "downloadStream", "files", "at"];
const fileMethods = ["list", "move", "signUrl"];

/** Methods of the TypeScript client that make the call of a row in another form, page by page or as a stream,
 *  or several of them. */
const otherMethods = [
  ...collections.map((name) => `${name}.list`),
  ...watched.flatMap((name) => [`${name}.follow`, `${name}.wait`]),
  ...["sandboxes", "machines"].flatMap((name) => [
    ...vmMethods.map((method) => `${name}.${method}`),
    ...fileMethods.map((method) => `${name}.files().${method}`),
  ]),
  ...[
    "apps.followLogs",
    "apps.list",
    "apps.deploys",
    "apps.releases",
    "apps.routes",
    "organizations.members",
    "events",
    "builds.followLog",
    "machines.followLogs",
  ],
  ...["templates.build", "templates.buildFolder", "templates.planFolder", "templates.push"],
  // For pages of the server.
  "logins.create",
];

test("each method of the TypeScript client is in a row, or makes the call of one that is", async () => {
  const made = new Set<string>();
  const noted = callsOf(skerry, (name) => made.add(name));
  const said = { code: "x", name: "x", snapshot: "x", template: "x" };
  const at = {
    ...{ id: "x", execution: "x", path: "/x", port: "1", name: "x", host: "x", deploy: "x" },
    body: {},
    said,
  };
  const called = documented.map(async (id) => {
    const sdk = generatedCalls.get(id)?.sdk ?? rowOf(id).sdk;
    if (typeof sdk === "function") await sdk(noted, { ...at, template: "x", tag: "x", user_id: "x" });
  });
  await Promise.allSettled(called);
  const others = methodsOf(skerry).filter((name) => !made.has(name));
  expect(others.toSorted()).toEqual(otherMethods.toSorted());
});

test("each operation that the Python client has a method for is in a row, by that method", async () => {
  const print = "import json, test_abilities; print(json.dumps(test_abilities.METHODS))";
  const folder = join(import.meta.dirname, "../../python/tests");
  const { stdout } = await promisify(execFile)("/usr/bin/python3", ["-B", "-c", print], {
    cwd: folder,
    env: { PYTHONPATH: join(folder, "../src") },
  });
  const methods = JSON.parse(stdout) as Readonly<Record<string, string>>;
  const byHand = offeredBy("python").filter((id) => !generatedCalls.has(id));
  const inRows = byHand.map((id) => {
    const [, method = ""] = /^skerry\.([\w.]+(?:\(\{id\}\)\.\w+)?)\(/.exec(textOf(rowOf(id).python)) ?? [];
    return [id, method.replace("({id})", "()")];
  });
  expect(Object.fromEntries(inRows)).toEqual(methods);
});

/** Commands that are about this machine, at a terminal, or another form of a row's, and the test that runs
 *  each. */
const otherCommands: Readonly<Record<string, string>> = {
  rollback: "packages/cli/tests/apps.test.ts",
  launch: "packages/cli/tests/apps.test.ts",
  ...Object.fromEntries(
    ["console", "env", "exec", "forward", "maintenance", "run"].map((word) => [
      `app ${word}`,
      "packages/cli/tests/app-hand.test.ts",
    ]),
  ),
  "auth login": "packages/cli/tests/organizations.test.ts",
  "auth logout": "packages/cli/tests/organizations.test.ts",
  "auth whoami": "packages/cli/tests/organizations.test.ts",
  login: "packages/cli/tests/organizations.test.ts",
  logout: "packages/cli/tests/organizations.test.ts",
  "org use": "packages/cli/tests/organizations.test.ts",
  "completion words": "packages/cli/tests/completion.test.ts",
  cp: "tests/copy.test.ts",
  "e2b env": "packages/cli/tests/e2b.test.ts",
  "sandbox logs": "packages/cli/tests/sandbox-logs.test.ts",
  api: "packages/cli/tests/api.test.ts",
  ps: "packages/cli/tests/person.test.ts",
  run: "packages/cli/tests/run-command.test.ts",
  "secret import": "packages/cli/tests/secrets.test.ts",
  "runs logs": "packages/cli/tests/runs.test.ts",
  "template logs": "packages/cli/tests/template-logs.test.ts",
  "template push": "packages/cli/tests/template-push.test.ts",
  ...Object.fromEntries(
    ["sandbox", "machine"].flatMap((noun) => [
      [`${noun} attach`, "packages/cli/tests/wrong-words.test.ts"],
      [`${noun} file mv`, "packages/cli/tests/file-system.test.ts"],
      [`${noun} forward`, "tests/forward.test.ts"],
      [`${noun} ls`, "packages/cli/tests/files.test.ts"],
      [`${noun} shell`, "tests/shell.test.ts"],
    ]),
  ),
};

test("each command of the command line is in a row, or has a test of its own", async () => {
  const lines = offeredBy("cli").map((id) => `${textOf(rowOf(id).cli)} `);
  const others = commandNames().filter((name) => !lines.some((line) => line.startsWith(`${name} `)));
  expect(others.toSorted()).toEqual(Object.keys(otherCommands).toSorted());
  for (const [name, file] of Object.entries(otherCommands)) {
    const text = await readFile(join(import.meta.dirname, "../../..", file), "utf8");
    expect(text, `${file} runs ${name}`).toContain(`"${name.split(" ").at(-1)}"`);
  }
});
