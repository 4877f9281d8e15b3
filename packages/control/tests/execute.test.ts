import type { AddressInfo } from "node:net";
import { sql } from "kysely";
import { beforeEach, describe, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { ExecuteResponse } from "@skerry/contract/vms/execute";
import { buildServer } from "../src/app/server.ts";
import { cleanExit } from "./support/fake-commands.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let id: string;
beforeEach(async () => {
  world.host.failures.clear();
  world.host.beforeExecute = async () => undefined;
  id = (await world.createSandbox()).id;
});

const OUTPUT_MAX_BYTES = 10 * 1024 * 1024;

function run(body: Record<string, unknown>, query = "") {
  return world.call<ExecuteResponse & { code: string }>("POST", `/v1/sandboxes/${id}/execute${query}`, {
    body,
  });
}

interface Event {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

function stream(body: Record<string, unknown>, signal?: AbortSignal): Promise<Response> {
  return fetch(`${world.url}/v1/sandboxes/${id}/execute`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${world.token}`,
      "content-type": "application/json",
      accept: "text/event-stream",
    },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

function eventsOf(text: string): Event[] {
  return text
    .split("\n\n")
    .filter((block) => block.startsWith("event: "))
    .map((block) => {
      const [, event = "", data = ""] = /^event: (\w+)\n(?:id: \d+\n)?data: (.*)$/.exec(block) ?? [];
      return { event, data: JSON.parse(data) as Record<string, unknown> };
    });
}

test("a command gets its directory, environment and timeout, and its whole result comes back", async () => {
  const answer = await run({ command: "pwd", workdir: "/tmp", env: { A: "1" }, timeout: "2m" });
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({ ...cleanExit, stdout: "pwd", stderr: "warned" });
  expect(world.host.commands.at(-1)).toMatchObject({
    workdir: "/tmp",
    env: { A: "1" },
    timeout_ms: 120_000,
    output_limit: OUTPUT_MAX_BYTES,
  });
  await run({ command: "pwd" });
  expect(world.host.commands.at(-1)).toMatchObject({ workdir: null, env: {}, timeout_ms: 30_000 });
});

test("bytes that are not UTF-8 become U+FFFD, and base64 returns them exactly", async () => {
  const text = await run({ command: "binary" });
  expect([text.body.stdout, text.body.stderr]).toEqual(["f\ufffd\0\ufffd", "\ufffd"]);
  const exact = await run({ command: "binary" }, "?encoding=base64");
  expect(Buffer.from(exact.body.stdout, "base64")).toEqual(Buffer.from([0x66, 0xff, 0x00, 0xc3]));
  const odd = await run({ command: "binary" }, "?encoding=hex");
  expect([odd.status, odd.body.code]).toEqual([400, "bad_request"]);
});

test("output over 10 MiB is cut and said to be, even where the host sends all of it", async () => {
  const answer = await run({ command: `flood ${OUTPUT_MAX_BYTES + 65_536}` });
  expect(answer.body.stdout).toHaveLength(OUTPUT_MAX_BYTES);
  expect(answer.body.truncated).toBe(true);
  const exactly = await run({ command: `flood ${OUTPUT_MAX_BYTES}` });
  expect(exactly.body.stdout).toHaveLength(OUTPUT_MAX_BYTES);
  expect(exactly.body.truncated).toBe(false);
});

test("a stream brings the same run as events and has no limit", async () => {
  const response = await stream({ command: "binary" });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  expect(response.headers.get("x-request-id")).toMatch(/^req_/);
  const [start, ...events] = eventsOf(await response.text());
  expect(start).toMatchObject({ event: "start", data: { command: "binary", detached: false } });
  expect(events).toEqual([
    { event: "stdout", data: { data: Buffer.from([0x66, 0xff, 0x00, 0xc3]).toString("base64") } },
    { event: "stderr", data: { data: Buffer.from([0xa9]).toString("base64") } },
    { event: "exit", data: cleanExit },
  ]);
  expect(world.host.commands.at(-1)).toMatchObject({ output_limit: 0 });
  const flood = eventsOf(await (await stream({ command: `flood ${OUTPUT_MAX_BYTES * 2}` })).text());
  const bytes = flood.reduce(
    (sum, { data }) =>
      sum + (typeof data["data"] === "string" ? Buffer.from(data["data"], "base64").length : 0),
    0,
  );
  expect(bytes).toBe(OUTPUT_MAX_BYTES * 2);
  expect(flood.at(-1)?.event).toBe("exit");
});

test("a stream that cannot begin is a plain error, one that breaks ends with an error event", async () => {
  const early = await stream({ command: "" });
  expect(early.status).toBe(400);
  expect(early.headers.get("content-type")).toContain("application/json");
  const events = eventsOf(await (await stream({ command: "cut" })).text());
  expect(events.map(({ event }) => event)).toEqual(["start", "stdout", "error"]);
  expect(events[2]?.data).toMatchObject({ code: "execution_not_found" });
  expect(events[2]?.data["request_id"]).toMatch(/^req_/);
});

test("a guest that breaks the protocol is an error and not an answer", async () => {
  for (const command of ["cut", "garbage", "lie"]) {
    const answer = await run({ command });
    expect([answer.status, answer.body.code], command).toEqual([502, "guest_failed"]);
  }
  const reset = await run({ command: "reset" });
  expect([reset.status, reset.body.code]).toEqual([422, "workdir_not_found"]);
  expect((await run({ command: "reset", workdir: "/no such" })).body).toMatchObject({
    message: 'The working directory "/no such" does not exist in the VM.',
    context: { path: "/no such" },
  });
});

test("a sandbox takes no work from the moment of its expiry, although the reaper has not come yet", async () => {
  const { host } = world;
  const path = `/v1/sandboxes/${id}`;
  const entered = () => [host.commands.length, host.files.size];
  const calls = (at: string) =>
    [
      ["POST", `${at}/execute`, { body: { command: "true" } }],
      ["PUT", `${at}/files/tmp/late`, {}],
      ["GET", `${at}/files/tmp/late`, {}],
      ["GET", `${at}/files/tmp?list=true`, {}],
      ["PUT", `${at}/egress`, { body: { mode: "deny_all" } }],
    ] as const;
  await sql`update sandboxes set expires_at = now() where id = ${id}`.execute(world.db);
  // What was known of it is from before this change; nothing else moves an expiry forward.
  world.context.vmLocations.forget(id);
  const before = entered();
  for (const [method, at, options] of calls(path)) {
    const { status, body } = await world.call(method, at, options);
    expect([status, body["code"]], `${method} ${at}`).toEqual([409, "sandbox_expired"]);
    expect(body["remediation"]).toContain("keepalive");
  }
  expect(entered()).toEqual(before);
  expect((await world.call("GET", path)).body["status"]).toBe("running");
  // Its owner may still read what it was denied, and destroy it.
  expect((await world.call("GET", `${path}/egress`)).status).toBe(200);
  expect((await world.call("DELETE", path)).status).toBe(204);
});

test("a sandbox whose host is away is expired, and not about to come back, once its time is over", async () => {
  await sql`update sandboxes set status = 'unreachable', expires_at = now() where id = ${id}`.execute(
    world.db,
  );
  world.context.vmLocations.forget(id);
  expect((await run({ command: "true" })).body.code).toBe("sandbox_expired");
});

test("a microVM that has ended makes a conflict, and the reconciler is woken", async () => {
  for (const code of ["vm_not_running", "vm_not_found", "stale_execution"] as const) {
    world.host.failures.set("execute", new SkerryError(code, "gone"));
    const woken = world.rung.length;
    const answer = await run({ command: "true" });
    expect([answer.status, answer.body.code]).toEqual([409, "sandbox_not_running"]);
    expect(world.rung.length).toBe(woken + 1);
  }
});

describe("a sandbox that ends in the middle of a command", () => {
  /** As the host tells it: its channel to the guest was closed. */
  const gone = new SkerryError("guest_failed", "The microVM is gone: the VM was destroyed.");
  const mark = (change: string) =>
    sql`update sandboxes set ${sql.raw(change)} where id = ${id}`.execute(world.db);
  const expiry = "status = 'destroying', reason = 'timeout expired'";

  test("because its time is over, is an error that says so, in the answer and in a stream", async () => {
    world.host.failures.set("execute", gone);
    world.host.beforeExecute = async () => void (await mark(expiry));
    const answer = await run({ command: "sleep 60" });
    expect([answer.status, answer.body.code]).toEqual([409, "sandbox_expired"]);
    const { message, remediation } = answer.body as unknown as Record<string, string>;
    expect(message).toBe("The sandbox has expired: its timeout of 5m is over.");
    expect(remediation).toMatch(/longer `timeout`.*`keepalive`/);
    // One that had begun.
    ({ id } = await world.createSandbox());
    world.host.failures.clear();
    const events = eventsOf(await (await stream({ command: "gone" })).text());
    expect(events.map(({ event, data }) => [event, data["code"]])).toEqual([
      ["start", undefined],
      ["stdout", undefined],
      ["error", "sandbox_expired"],
    ]);
  });

  test("because it was kept alive for no longer, says until when that was", async () => {
    await mark("expires_at = started_at + interval '1 hour', timeout_ms = 300000");
    world.host.beforeExecute = async () => void (await mark(expiry));
    const { body } = await run({ command: "gone" });
    expect((body as unknown as Record<string, string>)["message"]).toMatch(
      /^The sandbox has expired: it was kept alive until \d{4}-.*Z\.$/,
    );
  });

  test("because somebody destroyed it, says that", async () => {
    world.host.beforeExecute = async () =>
      void (await mark("status = 'destroying', reason = 'destroyed by request'"));
    const answer = await run({ command: "gone" });
    expect([answer.status, answer.body.code]).toEqual([409, "sandbox_not_running"]);
    expect(answer.body).toMatchObject({
      message: "The sandbox is destroying (destroyed by request).",
    });
  });

  test("by itself, is the failure that it is", async () => {
    const answer = await run({ command: "gone" });
    expect([answer.status, answer.body.code]).toEqual([502, "guest_failed"]);
  });
});

test("a client that goes away ends the call to the host, with and without a stream", async () => {
  const aborted = world.host.aborted;
  const streaming = new AbortController();
  const response = await stream({ command: "forever" }, streaming.signal);
  streaming.abort();
  await expect(response.text()).rejects.toThrow();
  await eventually(() => world.host.aborted === aborted + 1, "the host sees the stream end");

  const waiting = new AbortController();
  const request = fetch(`${world.url}/v1/sandboxes/${id}/execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${world.token}`, "content-type": "application/json" },
    body: JSON.stringify({ command: "forever" }),
    signal: waiting.signal,
  });
  await eventually(() => world.host.commands.at(-1)?.output_limit === OUTPUT_MAX_BYTES, "it runs");
  waiting.abort();
  await expect(request).rejects.toThrow();
  await eventually(() => world.host.aborted === aborted + 2, "the host sees the request end");
});

test("a reader that stops reading a stream stops the command's output, not the memory of the control plane", async () => {
  const controller = new AbortController();
  const before = process.memoryUsage().rss;
  const response = await stream({ command: `flood ${500 * 1024 * 1024}` }, controller.signal);
  await response.body?.getReader().read();
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  controller.abort();
});

test("a control plane that stops tells every command that it can wait for no longer, and has it killed", async () => {
  const warnings: string[] = [];
  const warned = (warning: Error) => warnings.push(warning.message);
  process.on("warning", warned);
  const server = await buildServer(world.context);
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = server.app.server.address() as AddressInfo;
  const aborted = world.host.aborted;
  const start = (accept: string) =>
    fetch(`http://127.0.0.1:${port}/v1/sandboxes/${id}/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${world.token}`, "content-type": "application/json", accept },
      body: JSON.stringify({ command: "forever" }),
    });
  const begun = world.host.commands.length;
  const streams = await Promise.all(Array.from({ length: 20 }, () => start("text/event-stream")));
  const whole = start("application/json");
  await eventually(() => world.host.commands.length === begun + 21, "all commands run");
  const [stopped, answer, ...texts] = await Promise.all([
    server.stop(2_000),
    whole,
    ...streams.map((response) => response.text()),
  ]);
  expect(stopped).toBeUndefined();
  for (const text of texts) {
    expect(eventsOf(text).map(({ event, data }) => [event, data["code"]])).toEqual([
      ["start", undefined],
      ["error", "shutting_down"],
    ]);
  }
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await answer.json()).toMatchObject({ code: "shutting_down" });
  await eventually(() => world.host.aborted === aborted + 21, "the host sees all of them end");
  process.off("warning", warned);
  expect(warnings).toEqual([]);
});
