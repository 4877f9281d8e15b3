// Executions of a sandbox and a machine, with a fake host: what control makes of them, and what it makes of one that lies.

import { afterEach, beforeEach, expect, test } from "vitest";
import { newId } from "@skerry/contract/ids";
import type { Execution, ExecutionList } from "@skerry/contract/vms/execution";
import { readEvents } from "../../sdk/src/http/event-stream.ts";
import { Members } from "./support/members.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let vm: string;

beforeEach(async () => {
  vm = `/v1/sandboxes/${(await world.createSandbox({ timeout: "1h" })).id}`;
});
afterEach(() => {
  world.host.executions.all.clear();
  world.host.executions.states = undefined;
});

async function start(body: object, path = vm): Promise<Execution> {
  const answer = await world.call<Execution>("POST", `${path}/executions`, { body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

interface Event {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: Record<string, unknown>;
}

async function* follow(path: string, headers: Readonly<Record<string, string>> = {}): AsyncGenerator<Event> {
  const response = await fetch(world.url + path, {
    headers: { authorization: `Bearer ${world.token}`, ...headers },
  });
  if (response.body === null || response.status !== 200) throw new Error(await response.text());
  for await (const { event, id, data } of readEvents(response.body))
    yield { event, id, data: JSON.parse(data) as Record<string, unknown> };
}

async function all(events: AsyncGenerator<Event>): Promise<Event[]> {
  const got: Event[] = [];
  for await (const event of events) got.push(event);
  return got;
}

const textOf = (events: readonly Event[], kind = "stdout"): string =>
  events
    .filter(({ event }) => event === kind)
    .map(({ data }) => Buffer.from(String(data["data"]), "base64").toString())
    .join("");

test("a detached command answers at once with an execution, which is listed, found and followed", async () => {
  const detached = await world.call<Execution>("POST", `${vm}/execute`, {
    body: { command: "repeat", detach: true, timeout: "2h", workdir: "/tmp", env: { A: "1" } },
  });
  expect(detached.status, detached.text).toBe(201);
  expect(detached.body).toMatchObject({ status: "running", detached: true, timeout: "2h", exit: null });
  expect(world.host.executions.last.command).toMatchObject({
    ...{ workdir: "/tmp", env: { A: "1" }, timeout_ms: 7_200_000, reattach_ms: -1, stdin: false, tty: false },
  });
  const { id } = detached.body;
  expect(id).toMatch(/^exe_/);
  const second = await start({ command: "true", tty: true, cols: 100, rows: 30 });
  expect(world.host.executions.last.command).toMatchObject({ stdin: true, cols: 100, timeout_ms: 0 });
  const list = await world.call<ExecutionList>("GET", `${vm}/executions`);
  expect(list.body.items.map((one) => one.id)).toEqual([second.id, id]);
  const page = await world.call<ExecutionList>("GET", `${vm}/executions?limit=1`);
  expect(page.body.items.map((one) => one.id)).toEqual([second.id]);
  const next = await world.call<ExecutionList>("GET", `${vm}/executions?cursor=${page.body.next_cursor}`);
  expect(next.body).toMatchObject({ items: [{ id }], next_cursor: null });
  expect((await world.call("GET", `${vm}/executions/${id}`)).body).toMatchObject({ id, command: "repeat" });
});

test("a machine has executions too", async () => {
  const machine = `/v1/machines/${(await world.createMachine()).id}`;
  const { id } = await start({ command: "hello" }, machine);
  expect(textOf(await all(follow(`${machine}/executions/${id}/stream`)))).toBe("hello");
});

test("the same creation with the same key starts one command, also where the first attempt had died", async () => {
  const send = () =>
    world.call<Execution>("POST", `${vm}/execute`, {
      body: { command: "repeat", detach: true },
      headers: { "idempotency-key": `key-${vm}` },
    });
  const first = await send();
  const again = await send();
  expect(again.body.id).toBe(first.body.id);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(world.host.executions.all.size).toBe(1);
});

test("numbers of events are positions, and a client goes on from any of them", async () => {
  const { id } = await start({ command: "binary" });
  const events = await all(follow(`${vm}/executions/${id}/stream`));
  expect(events.map(({ event, id: number }) => [event, number])).toEqual([
    ["start", "0"],
    ["stdout", "4"],
    ["stderr", "5"],
    ["exit", "5"],
  ]);
  const rest = await all(follow(`${vm}/executions/${id}/stream?after=2`));
  expect(rest.map(({ event, id: number }) => [event, number])).toEqual([
    ["start", "2"],
    ["stdout", "4"],
    ["stderr", "5"],
    ["exit", "5"],
  ]);
  const back = await all(follow(`${vm}/executions/${id}/stream`, { "last-event-id": "4" }));
  expect(back.map(({ event }) => event)).toEqual(["start", "stderr", "exit"]);
  const ahead = await world.call("GET", `${vm}/executions/${id}/stream?after=6`);
  expect([ahead.status, ahead.body["code"]]).toEqual([400, "bad_request"]);
});

test("a reader goes on where it was when its host breaks off, and no byte comes twice", async () => {
  const { id } = await start({ command: "repeat", stdin_open: true });
  const execution = world.host.executions.last;
  const got: Event[] = [];
  const reading = (async () => {
    for await (const event of follow(`${vm}/executions/${id}/stream?hold=true`)) got.push(event);
  })();
  for (const piece of ["one ", "two ", "three "]) {
    execution.write(piece);
    await eventually(() => textOf(got).endsWith(piece), "it comes");
    execution.cut();
  }
  execution.write("four");
  execution.end();
  await reading;
  expect(textOf(got)).toBe("one two three four");
  expect(got.filter(({ event }) => event === "start")).toHaveLength(1);
  expect(got.at(-1)).toMatchObject({ event: "exit", id: "18" });
});

test("input goes to an execution, ends where it says so, and what reads none says that", async () => {
  const { id } = await start({ command: "repeat", stdin_open: true });
  const path = `${vm}/executions/${id}/stdin`;
  expect((await world.call("POST", path, { body: "one " })).status).toBe(204);
  expect((await world.call("POST", `${path}?end=true`, { body: "two" })).status).toBe(204);
  expect(textOf(await all(follow(`${vm}/executions/${id}/stream`)))).toBe("one two");
  const deaf = await start({ command: "repeat" });
  const refused = await world.call("POST", `${vm}/executions/${deaf.id}/stdin`, { body: "x" });
  expect([refused.status, refused.body["code"]]).toEqual([409, "execution_input_closed"]);
});

test("a detached command reads the input that it was started with, which is bounded", async () => {
  const body = { command: "repeat", detach: true, stdin: "hello" };
  const { body: started } = await world.call<Execution>("POST", `${vm}/execute`, { body });
  expect(textOf(await all(follow(`${vm}/executions/${started.id}/stream`)))).toBe("hello");
  const long = await world.call("POST", `${vm}/execute`, { body: { ...body, stdin: "x".repeat(65_537) } });
  expect([long.status, long.body["code"]]).toEqual([413, "payload_too_large"]);
});

test("signals have names, and TERM is the one without a name", async () => {
  const { id } = await start({ command: "forever" });
  const kill = `${vm}/executions/${id}/kill`;
  expect((await world.call("POST", kill)).status).toBe(200);
  expect((await world.call("POST", kill, { body: { signal: "INT" } })).status).toBe(200);
  expect((await world.call("POST", kill, { body: { signal: "SIGHUP" } })).status).toBe(200);
  expect(world.host.executions.last.signals).toEqual([15, 2, 1]);
  expect((await world.call("POST", kill, { body: { signal: "SEGV" } })).status).toBe(400);
  expect((await world.call("POST", kill, { body: { signal: 9 } })).status).toBe(400);
});

test("a stream of a command gives its client time to come back where it asks for that", async () => {
  const stream = (body: object) =>
    fetch(`${world.url}${vm}/execute`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${world.token}`,
        "content-type": "application/json",
        accept: "text/event-stream",
      },
      body: JSON.stringify({ command: "true", ...body }),
    });
  await (await stream({})).text();
  expect(world.host.executions.last.command).toMatchObject({ reattach_ms: 0, timeout_ms: 30_000 });
  await (await stream({ reattach: "30s" })).text();
  expect(world.host.executions.last.command).toMatchObject({ reattach_ms: 30_000 });
  expect((await stream({ reattach: "61s" })).status).toBe(422);
  await (await stream({ timeout: "2h" })).text();
  expect(world.host.executions.last.command).toMatchObject({ timeout_ms: 7_200_000 });
  await (await stream({ timeout: "0s" })).text();
  expect(world.host.executions.last.command).toMatchObject({ timeout_ms: 0 });
  const tooLong = await stream({ timeout: "25h" });
  expect([tooLong.status, await tooLong.text()]).toEqual([422, expect.stringContaining("0s for none")]);
  const whole = await world.call("POST", `${vm}/execute`, { body: { command: "true", reattach: "30s" } });
  expect([whole.status, whole.body["code"]]).toEqual([400, "bad_request"]);
});

test("another organization finds no execution, and what is no id reaches no host", async () => {
  const { id } = await start({ command: "repeat", stdin_open: true });
  const members = new Members(world);
  const { path } = await members.newOrganization();
  const { secret } = await members.newMember("owner", path);
  const calls = world.host.calls.length;
  for (const [method, rest] of [
    ["GET", ""],
    ["GET", "/stream"],
    ["POST", "/stdin"],
    ["POST", "/kill"],
  ] as const) {
    const answer = await world.call(method, `${vm}/executions/${id}${rest}`, { token: secret });
    expect([answer.status, answer.body["code"]]).toEqual([404, "sandbox_not_found"]);
    for (const bad of ["..%2f..%2f..%2fvms", "exe_1", "exe_..%00", newId("sandbox")]) {
      const unknown = await world.call(method, `${vm}/executions/${bad}${rest}`);
      expect([unknown.status, unknown.body["code"]], bad).toEqual([404, "execution_not_found"]);
      expect(unknown.body["message"]).toContain(`"${decodeURIComponent(bad)}"`);
      expect(unknown.body["remediation"]).toContain("List the executions");
    }
  }
  expect(world.host.calls.slice(calls)).toEqual([]);
});

test("executions that a hostile guest makes up are not shown, and what is no execution is an error", async () => {
  const { id } = await start({ command: "repeat" });
  const { state } = world.host.executions.last;
  world.host.executions.states = [state, { ...state, execution: "../../etc" }];
  const list = await world.call<ExecutionList>("GET", `${vm}/executions`);
  expect(list.body.items.map((one) => one.id)).toEqual([id]);
  world.host.executions.states = [
    { ...state, duration_ms: 8e15, exit: { ...state.exit, exit_code: 0 } as never },
  ];
  const odd = await world.call("GET", `${vm}/executions`);
  expect(odd.status).toBe(500);
});
