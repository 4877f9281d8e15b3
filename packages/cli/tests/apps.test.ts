// `skerry deploy`, `skerry rollback` and `skerry app scale` before a scripted server.

import { expect, test } from "vitest";
import { App } from "@skerry/contract/apps/app";
import { Deploy } from "@skerry/contract/apps/deploy";
import { Release } from "@skerry/contract/apps/release";
import { exampleOf } from "@skerry/contract/named";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

/** `statuses`: of the deploy, at each look at it. */
async function serving(statuses: readonly Deploy["status"][], reason: Deploy["reason"] = null) {
  const left = [...statuses];
  const deploy = { ...exampleOf(Deploy), reason };
  const server = await ScriptedServer.start((response, { method, url }) => {
    const { pathname } = new URL(url, "http://x");
    if (method === "POST") return sendJson(response, 201, { ...deploy, status: "queued" });
    if (pathname.includes("/deploys/")) return sendJson(response, 200, { ...deploy, status: left.shift() });
    if (!pathname.endsWith("/releases")) return sendJson(response, 200, exampleOf(App));
    const items = [42, 41].map((number) => ({ ...exampleOf(Release), number }));
    return sendJson(response, 200, { items, next_cursor: null });
  });
  return { server, shell: await Shell.forServer(server) };
}

const sent = ({ received }: ScriptedServer) =>
  received.filter(({ method }) => method === "POST").map(({ body }) => JSON.parse(body.toString()) as object);

test("deploy sends what its flags say, tells each status, and prints the address when it is live", async () => {
  const { server, shell } = await serving(["starting", "checking", "live"]);
  await using _server = server;
  await using _shell = shell;
  const { code, stdout, stderr } = await shell.run(
    ...["deploy", "shop", "--template", "shop:42", "--command", "node server.js", "--port", "8080"],
    ...["--check-path", "/health", "--process", "worker=node work.js", "--env", "A=1"],
  );
  expect([code, stdout.toString()]).toEqual([0, "shop.localhost\n"]);
  expect(stderr).toMatch(/brings release 42 of shop\.\n[^]*starting\n[^]*checking\n[^]*live/);
  expect(sent(server)).toEqual([
    {
      template: "shop:42",
      processes: { web: { command: "node server.js" }, worker: { command: "node work.js" } },
      services: [{ group: "web", port: 8080, check: { path: "/health", port: 8080 } }],
      env: { A: "1" },
    },
  ]);
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
  const { code, stderr } = await shell.run("deploy", "shop", "--template", "base");
  expect(code).not.toBe(0);
  expect(stderr).toMatch(
    /The deploy is failed \(web\.1 ended: it exited with 3\)[^]*skerry machine logs mch_1/,
  );
});

test("rollback deploys the release before the live one, or the one that is named", async () => {
  const { server, shell } = await serving(["live", "live"]);
  await using _server = server;
  await using _shell = shell;
  await shell.run("rollback", "shop");
  await shell.run("rollback", "shop", "7");
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
