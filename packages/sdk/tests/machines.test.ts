import { expect, test } from "vitest";
import { Skerry, SkerryConnectionError } from "../src/skerry.ts";
import {
  allOf,
  eventText,
  exitFields,
  machineInfo,
  ScriptedServer,
  sendJson,
} from "./support/scripted-server.ts";

test("a machine is created, listed, stopped, started, restarted, used and destroyed", async () => {
  await using server = await ScriptedServer.start((response, { method, url }) => {
    if (method === "DELETE") response.writeHead(204).end();
    else if (url.endsWith("/execute")) response.end(eventText("exit", exitFields));
    else if (url.startsWith("/v1/machines?"))
      sendJson(response, 200, { items: [machineInfo], next_cursor: null });
    else sendJson(response, 200, machineInfo);
  });
  const { machines } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  const { id } = await machines.create({ template: "base", command: "exec worker" });
  expect((await machines.get(id)).status).toBe("running");
  const found = await allOf(machines.list({ status: "running", metadata: { job: "7" } }));
  expect(found.map((machine) => machine.id)).toEqual(["mch_0"]);
  for (const act of ["stop", "start", "restart"] as const) await machines[act](id);
  expect((await machines.execute(id, "true")).exit_code).toBe(0);
  await machines.destroy(id);
  expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "POST /v1/machines",
    "GET /v1/machines/mch_0",
    "GET /v1/machines?status=running&metadata.job=7",
    "POST /v1/machines/mch_0/stop",
    "POST /v1/machines/mch_0/start",
    "POST /v1/machines/mch_0/restart",
    "POST /v1/machines/mch_0/execute",
    "DELETE /v1/machines/mch_0",
  ]);
  expect(server.received[0]?.headers["idempotency-key"]).toMatch(/\S/);
});

test("a followed log gives its lines until the machine is destroyed, and says when the connection broke instead", async () => {
  let isWhole = true;
  await using server = await ScriptedServer.start((response, { url }) => {
    if (!url.includes("follow")) return sendJson(response, 200, { lines: ["one"] });
    const lines = eventText("line", { line: "one" }) + ": keepalive\n\n" + eventText("later", {});
    response.end(lines + eventText("line", { line: "two" }) + (isWhole ? eventText("end", {}) : ""));
  });
  const { machines } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  expect(await machines.logs("mch_0", { lines: 1 })).toEqual(["one"]);
  expect(await allOf(machines.followLogs("mch_0"))).toEqual(["one", "two"]);
  isWhole = false;
  await expect(allOf(machines.followLogs("mch_0"))).rejects.toThrow(SkerryConnectionError);
});

test("a refusal in the middle of a followed log is thrown", async () => {
  await using server = await ScriptedServer.start((response) =>
    response.end(eventText("error", { code: "unauthorized", message: "The token was revoked." })),
  );
  const { machines } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  await expect(allOf(machines.followLogs("mch_0"))).rejects.toMatchObject({
    code: "unauthorized",
    status: 401,
  });
});

test("an image in the place of a template is refused with how a template is made of it", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 500, {}));
  const { machines, sandboxes } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  for (const { create } of [
    { create: (request: never) => machines.create(request) },
    { create: (request: never) => sandboxes.create(request) },
  ])
    await expect(create({ image: "redis:7" } as never)).rejects.toMatchObject({
      name: "SkerryInputError",
      remediation: expect.stringContaining('templates.build({ name: "web", image:') as string,
    });
  expect(server.received).toEqual([]);
});

test("a machine that has failed and is started again by its policy is waited for, and one that is not ends the wait", async () => {
  const states = [{ status: "failed", restart_at: "2026-11-20T16:00:00Z" }, { status: "running" }];
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, { id: "mch_0", restart_at: null, waits_for: null, ...states.shift() }),
  );
  const { machines } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  expect((await machines.wait("mch_0", ["running"])).status).toBe("running");
  states.push({ status: "failed" });
  await expect(machines.wait("mch_0", "running")).rejects.toThrow("It is failed, and will not be running.");
});
