// `skerry app run`, `exec`, `console` and `env`, and secrets of an app, before a scripted server.

import { expect, test } from "vitest";
import { App } from "@skerry/contract/apps/app";
import { Deploy } from "@skerry/contract/apps/deploy";
import { Release } from "@skerry/contract/apps/release";
import { Machine } from "@skerry/contract/machines/machine";
import { exampleOf } from "@skerry/contract/named";
import { Secret } from "@skerry/contract/secrets/secret";
import {
  eventText,
  exitFields,
  output,
  ScriptedServer,
  sendJson,
} from "../../sdk/tests/support/scripted-server.ts";
import { ended, Shell } from "./support/shell.ts";

const machine = { ...exampleOf(Machine), id: "mch_01kb3x9c1e3g5j7m9p1r3t5v7x" };

async function serving(app = exampleOf(App)) {
  const server = await ScriptedServer.start((response, { method, url }) => {
    const { pathname } = new URL(url, "http://x");
    if (pathname.endsWith("/one-offs")) return sendJson(response, 201, machine);
    if (pathname.includes("/one-offs/")) return void response.writeHead(204).end();
    if (pathname.endsWith("/execute"))
      return void response.end(
        output("stdout", "done\n") + eventText("exit", { ...exitFields, exit_code: 3 }),
      );
    if (pathname === "/v1/machines") return sendJson(response, 200, { items: [machine], next_cursor: null });
    if (pathname.startsWith("/v1/machines/"))
      return sendJson(response, 404, { code: "machine_not_found", message: "gone", request_id: "r" });
    if (method === "PUT") return sendJson(response, 200, exampleOf(Secret));
    if (pathname.endsWith("/deploys")) return sendJson(response, 201, exampleOf(Deploy));
    if (pathname.includes("/deploys/"))
      return sendJson(response, 200, { ...exampleOf(Deploy), status: "live" });
    if (pathname.endsWith("/releases"))
      return sendJson(response, 200, { items: [exampleOf(Release)], next_cursor: null });
    return sendJson(response, 200, app);
  });
  return { server, shell: await Shell.forServer(server) };
}

const made = ({ received }: ScriptedServer) => received.map(({ method, url }) => `${method} ${url}`);
const deployed = ({ received }: ScriptedServer) =>
  received
    .filter(({ method, url }) => method === "POST" && url.endsWith("/deploys"))
    .map(({ body }) => JSON.parse(body.toString()) as object);

test("app run executes in a one-off, exits with its code, and deletes it", async () => {
  const { server, shell } = await serving();
  await using _server = server;
  await using _shell = shell;
  const { code, stdout, stderr } = await shell.run("app", "run", "--app", "shop", "-n", "--", "node", "x.js");
  expect([code, stdout.toString(), stderr]).toEqual([3, "done\n", ""]);
  const executed = server.received.find(({ url }) => url.endsWith("/execute"));
  expect(JSON.parse(executed?.body.toString() ?? "")).toMatchObject({ timeout: "0s" });
  expect(made(server)).toEqual([
    "POST /v1/apps/shop/one-offs",
    expect.stringContaining(`POST /v1/machines/${machine.id}/execute`),
    `DELETE /v1/apps/shop/one-offs/${machine.id}`,
  ]);
});

test("app exec executes in the instance of the name", async () => {
  const { server, shell } = await serving();
  await using _server = server;
  await using _shell = shell;
  const { code, stdout } = await shell.run("app", "exec", "web.2", "--app", "shop", "--", "ls");
  expect([code, stdout.toString()]).toEqual([3, "done\n"]);
  expect(made(server).at(-1)).toContain("/execute");
  expect(made(server).join(" ")).toContain("shop%2Fweb.2");
});

test("app console ends its one-off where no terminal can be opened in it", async () => {
  const { server, shell } = await serving();
  await using _server = server;
  await using _shell = shell;
  const { code, stderr } = await shell.run("app", "console", "--app", "shop");
  expect([code, stderr]).toEqual([125, expect.stringContaining("machine_not_found") as string]);
  expect(made(server).at(-1)).toBe(`DELETE /v1/apps/shop/one-offs/${machine.id}`);
});

test("app env lists names, and deploys the live release with what changes", async () => {
  const { server, shell } = await serving();
  await using _server = server;
  await using _shell = shell;
  const listed = await shell.run("app", "env", "--app", "shop");
  expect(listed.stdout.toString()).toMatch(/LOG_LEVEL +variable/);
  await shell.run("app", "env", "A=1=2", "--unset", "B", "--app", "shop");
  expect(deployed(server)).toEqual([{ release: 42, env_changes: { A: "1=2", B: null } }]);
  const wrong = await shell.run("app", "env", "A", "--app", "shop");
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("NAME=VALUE") as string]);
});

test("app env stages what the next deploy has, and shows it", async () => {
  const { server, shell } = await serving();
  await using _server = server;
  await using _shell = shell;
  const staged = await shell.run("app", "env", "A=1", "--unset", "B", "--stage", "--app", "shop");
  expect([staged.code, staged.stderr]).toEqual([0, "The next deploy of shop has the change.\n"]);
  expect(deployed(server)).toEqual([]);
  const [{ method, body } = { method: "", body: Buffer.from("{}") }] = server.received;
  expect([method, JSON.parse(body.toString())]).toEqual(["PATCH", { env_changes: { A: "1", B: null } }]);
  const listed = await shell.run("app", "env", "--app", "shop");
  expect(listed.stdout.toString()).toMatch(/LOG_LEVEL +variable\nLOG_LEVEL +staged\n/);
  const json = await shell.run("app", "env", "--app", "shop", "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual({
    ...{ variables: ["LOG_LEVEL"], secrets: [] },
    staged: { set: ["LOG_LEVEL"], unset: [] },
  });
  const nothing = await shell.run("app", "env", "--stage", "--app", "shop");
  expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining("NAME=VALUE") as string]);
});

test("app env of an app without a release stages what its first deploy has", async () => {
  const { server, shell } = await serving({ ...exampleOf(App), release: null });
  await using _server = server;
  await using _shell = shell;
  const { code, stderr } = await shell.run("app", "env", "A=1", "--app", "shop");
  expect([code, stderr]).toEqual([0, "No release of shop is live yet; its next deploy has the change.\n"]);
  expect(made(server)).toEqual(["GET /v1/apps/shop", "PATCH /v1/apps/shop"]);
});

test("a secret of an app is set and deployed, or staged", async () => {
  const { server, shell } = await serving();
  await using _server = server;
  await using _shell = shell;
  const set = (...more: readonly string[]) => {
    const child = shell.start("secret", "set", "API_KEY", "--app", "shop", ...more);
    child.stdin.end("hush\n");
    return ended(child);
  };
  expect((await set("--stage")).code).toBe(0);
  expect(deployed(server)).toEqual([]);
  expect((await set()).stdout.toString()).toContain("http://shop.localhost:7080");
  expect(deployed(server)).toEqual([{ release: 42 }]);
  expect(made(server)[0]).toBe("PUT /v1/apps/shop/secrets/API_KEY");
});

test("app forward says where the log goes, and shows why it does not get there", async () => {
  const { log_forward: forward } = exampleOf(App);
  const fault = { message: "It answers 503.", since: new Date(Date.now() - 3_600_000).toISOString() };
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, { ...exampleOf(App), log_forward: { ...forward, fault } }),
  );
  await using shell = await Shell.forServer(server);
  const url = "https://logs.example.com/v1/logs";
  const set = await shell.run("app", "forward", "shop", url, "--header", "Authorization=LOGS_TOKEN");
  expect(set.stdout.toString()).toMatch(
    /^its log goes to https:\S+ with Authorization from LOGS_TOKEN, which takes nothing since .*: It answers 503\.\n$/,
  );
  await shell.run("app", "forward", "shop", "syslog+tls://logs.example.com:6514");
  await shell.run("app", "forward", "shop", "--off");
  await shell.run("app", "forward", "shop");
  expect(
    server.received.map(({ method, body }) => (method === "GET" ? method : JSON.parse(String(body)))),
  ).toEqual([
    { log_forward: { url, header: { name: "Authorization", secret: "LOGS_TOKEN" } } },
    { log_forward: { url: "syslog+tls://logs.example.com:6514" } },
    { log_forward: null },
    "GET",
  ]);
  for (const words of [
    ["--header", "A=B"],
    [url, "--off"],
    [url, "--header", "Bearer x"],
  ])
    expect((await shell.run("app", "forward", "shop", ...words)).code).toBe(2);
  expect(server.received).toHaveLength(4);
});

test("app maintenance says what it is to be", async () => {
  const { server, shell } = await serving();
  await using _server = server;
  await using _shell = shell;
  for (const state of ["on", "off"]) await shell.run("app", "maintenance", "shop", state);
  const changes = server.received.map(({ method, body }) => [method, JSON.parse(body.toString()) as object]);
  expect(changes).toEqual([
    ["PATCH", { maintenance: true }],
    ["PATCH", { maintenance: false }],
  ]);
  expect((await shell.run("app", "maintenance", "shop", "maybe")).code).toBe(2);
});
