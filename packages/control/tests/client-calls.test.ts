// Every client makes the call that each operation documents, and gives what the API answers: the rows of
// `client-calls/`, in TypeScript, in both halves of the Python client and on the command line. What only a
// real microVM shows is in the end-to-end tests.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Skerry } from "@skerry/sdk";
import { commandNames } from "../../cli/tests/support/command-names.ts";
import { operations, type OperationId } from "../src/app/operations.ts";
import type { Call } from "./calls/call.ts";
import { calls } from "./calls/calls.ts";
import type { At, ClientCall, Kind, LeftOut } from "./client-calls/client-call.ts";
import { clientCalls } from "./client-calls/client-calls.ts";
import { generatedCalls } from "./client-calls/generated-calls.ts";
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
} as const;
type Client = keyof typeof clients;

const rows = Object.entries(clientCalls) as readonly (readonly [keyof typeof clientCalls, ClientCall])[];

/** The row's own way, which another one may not have beside a generated method. */
function wayOf(id: keyof typeof clientCalls, kind: Kind): ClientCall[Kind] {
  const row: ClientCall = clientCalls[id];
  const own = row[kind];
  if (kind === "cli") return own;
  const generated = generatedCalls.get(id)?.[kind];
  if ((own === undefined) === (generated === undefined))
    throw new Error(`${id}: a call is either generated or in its row, and not both`);
  return own;
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
afterAll(async () => {
  await commands[Symbol.asyncDispose]();
  await python[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

function isOffered<Offered>(way: Offered | LeftOut): way is Exclude<Offered, LeftOut> {
  return !(typeof way === "object" && way !== null && "leftOut" in way);
}

function textOf(way: string | LeftOut | undefined): string {
  return typeof way === "string" ? way : "";
}

/** Ids of the operations that have a call in such clients. */
function offeredBy(kind: Kind): readonly (keyof typeof clientCalls)[] {
  return rows.flatMap(([id]) => (isOffered<ClientCall[Kind]>(wayOf(id, kind)) ? [id] : []));
}

/** The parameters of the path, and the text fields of the body, of an operation's call. */
function aboutOf(id: OperationId, { path, body }: Call): At {
  const names = { id: "", execution: "", path: "", port: "", name: "", host: "" };
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
async function given(id: keyof typeof clientCalls, client: Client, at: At): Promise<unknown> {
  const row: ClientCall = clientCalls[id];
  const generated = generatedCalls.get(id);
  if (client === "TypeScript") {
    const sdk = generated?.sdk ?? row.sdk;
    return asJson(typeof sdk === "function" ? await sdk(skerry, at) : undefined);
  }
  if (client !== "the command line")
    return python.evaluate(
      client === "Python" ? "python" : "asyncio",
      generated?.python(at) ?? filled(textOf(row.python), at, JSON.stringify),
    );
  const words = textOf(row.cli)
    .split(" ")
    .map((word) => filled(word, at, String));
  const { code, stdout, stderr } = await commands.run({ words, input: row.input ?? "" });
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

function expectedOf(row: ClientCall, kind: Kind, { status, type, text }: Exchange, got: unknown): unknown {
  if (row.gives !== undefined && kind in row.gives) return row.gives[kind];
  if (status === 204) return null;
  if (!type.startsWith("application/json")) return text;
  const answer = JSON.parse(text) as { readonly items?: unknown };
  return Array.isArray(got) ? answer.items : answer;
}

/** The synchronous half of the Python client is made of the asynchronous one, whose calls a usual run
 *  samples. */
function triedBy(client: Client): readonly (keyof typeof clientCalls)[] {
  const offered = offeredBy(clients[client]);
  if (client !== "asyncio") return offered;
  const sampled = sampledOperations("the asynchronous client");
  return offered.filter((id) => sampled.has(id));
}

describe.each(Object.keys(clients) as Client[])("%s", (client) => {
  const kind = clients[client];
  test.each(triedBy(client))("calls %s as it is documented, and gives its answer", async (id) => {
    const row: ClientCall = clientCalls[id];
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

test("each operation of the document has a row", () => {
  const documented = documentedOperations.map(([id]) => id);
  expect(rows.map(([id]) => String(id)).toSorted()).toEqual(documented.toSorted());
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
  ...["organizations.members", "events", "builds.followLog", "machines.followLogs"],
  ...["templates.build", "templates.buildFolder", "templates.planFolder", "templates.push"],
  // For pages of the server.
  "logins.create",
];

test("each method of the TypeScript client is in a row, or makes the call of one that is", async () => {
  const made = new Set<string>();
  const noted = callsOf(skerry, (name) => made.add(name));
  const said = { code: "x", name: "x", snapshot: "x", template: "x" };
  const at = { ...{ id: "x", execution: "x", path: "/x", port: "1", name: "x", host: "x" }, body: {}, said };
  const called = rows.map(async ([id, row]) => {
    const sdk = generatedCalls.get(id)?.sdk ?? row.sdk;
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
    const [, method = ""] =
      /^skerry\.([\w.]+(?:\(\{id\}\)\.\w+)?)\(/.exec(textOf(clientCalls[id].python)) ?? [];
    return [id, method.replace("({id})", "()")];
  });
  expect(Object.fromEntries(inRows)).toEqual(methods);
});

/** Commands that are about this machine, at a terminal, or another form of a row's, and the test that runs
 *  each. */
const otherCommands: Readonly<Record<string, string>> = {
  "auth login": "packages/cli/tests/organizations.test.ts",
  "auth logout": "packages/cli/tests/organizations.test.ts",
  "auth whoami": "packages/cli/tests/organizations.test.ts",
  login: "packages/cli/tests/organizations.test.ts",
  logout: "packages/cli/tests/organizations.test.ts",
  "org use": "packages/cli/tests/organizations.test.ts",
  "completion words": "packages/cli/tests/completion.test.ts",
  cp: "tests/copy.test.ts",
  "e2b env": "packages/cli/tests/e2b.test.ts",
  logs: "packages/cli/tests/person.test.ts",
  "sandbox logs": "packages/cli/tests/sandbox-logs.test.ts",
  ps: "packages/cli/tests/person.test.ts",
  run: "packages/cli/tests/run-command.test.ts",
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
  const lines = offeredBy("cli").map((id) => `${textOf(clientCalls[id].cli)} `);
  const others = commandNames().filter((name) => !lines.some((line) => line.startsWith(`${name} `)));
  expect(others.toSorted()).toEqual(Object.keys(otherCommands).toSorted());
  for (const [name, file] of Object.entries(otherCommands)) {
    const text = await readFile(join(import.meta.dirname, "../../..", file), "utf8");
    expect(text, `${file} runs ${name}`).toContain(`"${name.split(" ").at(-1)}"`);
  }
});
