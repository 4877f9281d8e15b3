// `skerry deploy`, `skerry rollback` and `skerry app scale` before a scripted server.

import type { ServerResponse } from "node:http";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { DeployCreateRequest } from "@skerry/sdk";
import { App } from "@skerry/contract/apps/app";
import { AppLogLine } from "@skerry/contract/apps/app-logs";
import { Build } from "@skerry/contract/builds/build";
import { Deploy } from "@skerry/contract/apps/deploy";
import { Release } from "@skerry/contract/apps/release";
import { exampleOf } from "@skerry/contract/named";
import { eventText, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

/** `statuses`: of the deploy, at each look at it. */
async function serving(statuses: readonly Deploy["status"][], reason: Deploy["reason"] = null) {
  const left = [...statuses];
  const deploy = { ...exampleOf(Deploy), reason };
  const server = await ScriptedServer.start((response, { method, url }) => {
    const { pathname } = new URL(url, "http://x");
    if (method === "POST") return sendJson(response, 201, { ...deploy, status: "queued" });
    if (pathname.includes("/deploys/")) return sendJson(response, 200, { ...deploy, status: left.shift() });
    if (pathname.endsWith("/logs")) return sendLog(response);
    if (pathname.startsWith("/v1/builds"))
      return sendJson(response, 200, { ...exampleOf(Build), waits_for_context: true });
    if (!pathname.endsWith("/releases")) return sendJson(response, 200, exampleOf(App));
    const items = [42, 41].map((number) => ({ ...exampleOf(Release), number }));
    return sendJson(response, 200, { items, next_cursor: null });
  });
  return { server, shell: await Shell.forServer(server) };
}

/** The log of a build that has ended. */
function sendLog(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end("event: end\ndata: {}\n\n");
}

const sent = ({ received }: ScriptedServer) =>
  received.filter(({ method }) => method === "POST").map(({ body }) => JSON.parse(body.toString()) as object);

test("deploy sends what its flags say, tells each status, and prints the address when it is live", async () => {
  const { server, shell } = await serving(["starting", "checking", "live"]);
  await using _server = server;
  await using _shell = shell;
  const { code, stdout, stderr } = await shell.run(
    ...["deploy", "--app", "shop", "--template", "shop:42", "--command", "node server.js", "--port", "8080"],
    ...["--check-path", "/health", "--process", "worker=node work.js", "--env", "A=1"],
  );
  expect([code, stdout.toString()]).toEqual([0, "http://shop.localhost:7080\n"]);
  expect(stderr).toMatch(/brings release 42 of shop\.\n[^]*starting\n[^]*checking\n[^]*live/);
  expect(sent(server)).toEqual([
    {
      template: "shop:42",
      processes: { web: { command: "node server.js" }, worker: { command: "node work.js" } },
      services: [{ group: "web", port: 8080, check: { path: "/health" } }],
      env: { A: "1" },
    },
  ]);
});

test("a folder is detected, sent, and deployed as its skerry.toml says, with flags over it", async () => {
  const { server, shell } = await serving(["building", "live"]);
  await using _server = server;
  await using _shell = shell;
  const folder = await mkdtemp(join(tmpdir(), "skerry-test-app-"));
  await using _folder = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  await writeFile(join(folder, "package.json"), JSON.stringify({ scripts: { start: "node server.js" } }));
  await writeFile(join(folder, "Procfile"), "web: node server.js\nrelease: node migrate.js\n");
  const launched = await shell.run("launch", folder, "--app", "shop");
  expect([launched.code, launched.stdout.toString()]).toEqual([0, "http://shop.localhost:7080\n"]);
  const written = await readFile(join(folder, "skerry.toml"), "utf8");
  expect(written).toMatch(/app = "shop"[^]*web = "node server.js"[^]*port = 8080/);
  const again = await shell.run("launch", folder);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("already_launched") as string]);
  await writeFile(
    join(folder, "skerry.toml"),
    'app = "shop"\nsize = "shared-cpu-2x"\nsecrets = ["KEY"]\n[env]\nA = "1"\nB = "2"\n[scale]\nweb = 2\n' +
      '[processes]\nweb = "node other.js"\n[[services]]\nport = 3000\n[deploy]\nstrategy = "bluegreen"\n',
  );
  await shell.run("deploy", folder, "--env", "B=3");
  const [first, second] = sent(server) as DeployCreateRequest[];
  expect(first).toMatchObject({
    build: { context: true },
    processes: { web: { command: "node server.js" } },
    services: [{ group: "web", port: 8080, check: { path: "/" } }],
    release_command: "node migrate.js",
  });
  expect(first?.build).not.toHaveProperty("start");
  // The file itself is no part of what is built.
  expect(second?.build?.context_digests).toEqual(first?.build?.context_digests);
  expect(second).toMatchObject({
    processes: { web: { command: "node other.js", size: "shared-cpu-2x" } },
    services: [{ group: "web", port: 3000 }],
    env: { A: "1", B: "3" },
    secrets: [{ name: "KEY" }],
    strategy: "bluegreen",
  });
  const scaled = server.received.find(({ method }) => method === "PATCH");
  expect(JSON.parse(scaled?.body.toString() ?? "")).toEqual({ scale: { web: 2 } });
});

test.each([
  ['app = "shop"\n[proceses]\n', '"processes"'],
  ['app = "shop"\n[[services]]\nport = 1\n[services.check]\npaht = "/"\n', "services[0].check.paht"],
  ["[env]\n", "names no app"],
  ["app = \n", "no TOML in line 1"],
])("a skerry.toml with a fault is refused before a request: %j", async (text, told) => {
  const { server, shell } = await serving([]);
  await using _server = server;
  await using _shell = shell;
  const folder = await mkdtemp(join(tmpdir(), "skerry-test-app-"));
  await using _folder = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  await writeFile(join(folder, "skerry.toml"), text);
  const { code, stderr } = await shell.run("deploy", folder);
  expect([code, stderr]).toEqual([2, expect.stringContaining(told) as string]);
  expect(server.received).toEqual([]);
});

test("a deploy that fails is a failure of the command, with why and where its log is", async () => {
  const message = "web.1 ended: it exited with 3";
  const reason: Deploy["reason"] = {
    code: "instance_failed",
    message,
    instance: "mch_1",
    exit_code: 3,
    last_lines: ["boom"],
  };
  const { server, shell } = await serving(["failed"], reason);
  await using _server = server;
  await using _shell = shell;
  const { code, stderr } = await shell.run("deploy", "--app", "shop", "--template", "base");
  expect(code).not.toBe(0);
  expect(stderr).toMatch(
    /The deploy is failed \(web\.1 ended: it exited with 3\)[^]*skerry machine logs mch_1/,
  );
});

test("rollback deploys the release before the live one, or the one that is named", async () => {
  const { server, shell } = await serving(["live", "live"]);
  await using _server = server;
  await using _shell = shell;
  await shell.run("rollback", "--app", "shop");
  await shell.run("rollback", "7", "--app", "shop");
  expect(sent(server)).toEqual([{ release: 41 }, { release: 7 }]);
});

test("what is no scale is refused before a request", async () => {
  const { server, shell } = await serving([]);
  await using _server = server;
  await using _shell = shell;
  for (const text of ["web", "web=x", "=3"]) {
    const { code, stderr } = await shell.run("app", "scale", "shop", text);
    expect([code, stderr]).toEqual([2, expect.stringContaining("web=3") as string]);
  }
  expect(server.received).toEqual([]);
});

test("a log that is followed goes on over an error of the server and over its end, and has each line once", async () => {
  const line = (text: string, position: string) =>
    eventText("line", { ...exampleOf(AppLogLine), line: text, position });
  const { machine_id: machine } = exampleOf(AppLogLine);
  const synced = (cursor: string, unavailable: readonly string[] = []) =>
    eventText("synced", { cursor, unavailable });
  const answers = [
    line("a", "1") + synced("c1", ["web.2"]) + line("b", "2") + line("\tc", "3"),
    undefined,
    line("d", "4") + synced("c2", ["web.2"]) + eventText("reset", { reason: "shutting_down", cursor: "c3" }),
    line("e", "5") + eventText("error", { code: "shutting_down", message: "The server ends." }),
    line("f", "6") + synced("c4") + eventText("end", {}),
  ];
  await using server = await ScriptedServer.start((response) => {
    const answer = answers.shift();
    if (answer === undefined)
      return sendJson(response, 503, { code: "unavailable", message: "no", request_id: "r" });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(answer);
  });
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run(
    ...["logs", "--app", "shop", "--follow", "--grep", "x", "--level", "warn", "--deploy", "dpl_1"],
  );
  expect(stdout.toString()).toBe(
    "a b         c d e f ".replaceAll(/( *\w) /g, (_, text) => `web.1 | ${text}\n`),
  );
  expect([code, stderr.match(/cannot be asked/g)]).toEqual([0, ["cannot be asked"]]);
  const asked = server.received.map(({ url }) => new URL(url, "http://x").searchParams);
  expect(asked.map((query) => query.get("after"))).toEqual([
    null,
    `c1,${machine}:3`,
    `c1,${machine}:3`,
    "c3",
    `c3,${machine}:5`,
  ]);
  expect(asked.map((query) => [query.get("grep"), query.get("level"), query.get("deploy")])).toEqual(
    asked.map(() => ["x", "warn", "dpl_1"]),
  );
});

test("what does not pass by itself ends a log that is followed", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 404, { code: "app_not_found", message: "gone", request_id: "r" }),
  );
  await using shell = await Shell.forServer(server);
  const { code, stderr } = await shell.run("logs", "--app", "shop", "--follow");
  expect(code).not.toBe(0);
  expect(stderr).toContain("app_not_found");
  const { code: wrong } = await shell.run("logs", "--app", "shop", "--level", "loud");
  expect([wrong, server.received.length]).toEqual([2, 1]);
});

test("a log is that of an app, or of machines and sandboxes", async () => {
  await using server = await ScriptedServer.start(() => undefined);
  await using shell = await Shell.forServer(server);
  for (const args of [[], ["web", "--app", "shop"]]) expect((await shell.run("logs", ...args)).code).toBe(2);
  expect(server.received).toEqual([]);
});

test("open leads to the page of an app", async () => {
  const { server, shell } = await serving([]);
  await using _server = server;
  await using _shell = shell;
  const printed = await shell.run("open", "--app", "shop", "--print");
  expect([printed.code, printed.stdout.toString()]).toEqual([0, "http://shop.localhost:7080\n"]);
  expect(server.received.map(({ url }) => url)).toEqual(["/v1/apps/shop"]);
});
