// Commands whose output outlives their sandbox, with a fake host.

import { afterEach, beforeEach, expect, test } from "vitest";
import { sql } from "kysely";
import { EXECUTION_WINDOW_BYTES } from "@skerry/contract/bounds";
import { SkerryError } from "@skerry/contract/errors";
import type { Execution } from "@skerry/contract/vms/execution";
import type { KeptExecutionList, KeptOutput } from "@skerry/contract/vms/kept-execution";
import { runEnder } from "../src/sandboxes/run-ender.ts";
import { endedExecutions } from "../src/vms/executions/kept-execution-store.ts";
import { done, Members } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const never = new AbortController().signal;
let id: string;
let vm: string;

beforeEach(async () => {
  ({ id } = await world.createSandbox({ timeout: "1h" }));
  vm = `/v1/sandboxes/${id}`;
});
afterEach(async () => {
  world.host.executions.all.clear();
  world.host.failures.clear();
  await sql`delete from kept_executions`.execute(world.db);
});

const look = () => runEnder(world.context, 1_000).activate(never);
const kept = async (execution: string, query = "") =>
  (await world.call<KeptOutput>("GET", `/v1/executions/${execution}${query}`)).body;
const statusOf = async () => (await world.call("GET", vm)).body["status"];

async function start(body: object, path = vm): Promise<Execution> {
  const answer = await world.call<Execution>("POST", `${path}/executions`, {
    body: { command: "forever", ...body },
  });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

test("a sandbox that was made for one command ends with it, and its output is there afterwards", async () => {
  const { id: execution } = await start({ destroy_sandbox: true });
  expect(await look()).toMatchObject({ examined: 1, changed: 0, failed: 0 });
  const fake = world.host.executions.last;
  fake.write("out\n");
  expect(await kept(execution), "while it runs").toMatchObject({
    ...{ status: "running", exit: null, stdout: "out\n", output_bytes: 4, sandbox_id: id },
  });
  fake.write("warned\n", "stderr");
  fake.end(3);
  expect(await kept(execution), "before anybody has looked").toMatchObject({
    ...{ status: "exited", exit: { exit_code: 3 }, ended_at: expect.any(String) as string },
  });
  expect(await look()).toMatchObject({ examined: 1, changed: 1, failed: 0 });
  expect(await statusOf()).toBe("destroyed");
  expect((await world.call("GET", vm)).body["reason"]).toBe("its command has ended");
  expect(await kept(execution)).toMatchObject({
    ...{ id: execution, sandbox_id: id, command: "forever", status: "exited", reason: null },
    ...{ destroys_sandbox: true, output_bytes: 11, stdout: "out\n", stderr: "warned\n" },
    exit: { exit_code: 3 },
  });
  const bytes = await kept(execution, "?encoding=base64");
  expect([bytes.stdout, bytes.stderr]).toEqual([btoa("out\n"), btoa("warned\n")]);
  const { body } = await world.call<KeptExecutionList>("GET", "/v1/executions");
  expect(body.items).toEqual([expect.objectContaining({ id: execution, status: "exited" })]);
  expect(body.items[0]).not.toHaveProperty("stdout");
  expect(await look(), "once").toMatchObject({ examined: 0, changed: 0 });
});

/** A command that `execute` streams; its output is read to its end by `text`. */
async function stream(): Promise<Response> {
  const answer = await fetch(`${world.url}${vm}/execute`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${world.token}`,
      "content-type": "application/json",
      accept: "text/event-stream",
    },
    body: JSON.stringify({ command: "forever", keep_output: true }),
  });
  expect(answer.status).toBe(200);
  return answer;
}

test("a command's end is shown with its exit when its client hears of it, while its sandbox lives on", async () => {
  const answer = await stream();
  const fake = world.host.executions.last;
  fake.write("half");
  expect(await kept(fake.id)).toMatchObject({ status: "running", ended_at: null });
  fake.end(3);
  expect(await answer.text()).toContain("event: exit");
  const ended = { status: "exited", exit: { exit_code: 3 }, ended_at: expect.any(String) as string };
  const { body } = await world.call<KeptExecutionList>("GET", "/v1/executions");
  expect(body.items).toEqual([
    expect.objectContaining({ ...ended, exit: expect.objectContaining(ended.exit) }),
  ]);
  expect(await kept(fake.id)).toMatchObject({ ...ended, stdout: "half", output_bytes: 4 });
  expect(await statusOf()).toBe("running");
  await start({ keep_output: true });
});

test.each([
  ["has exited", { status: "exited", exit: { exit_code: 3 }, stdout: "half", reason: null }],
  [
    "its sandbox has forgotten",
    { status: "ended", exit: null, reason: "its sandbox does not know it any more" },
  ],
] as const)(
  "a command without a reader that %s is shown as ended, and its sandbox lives on",
  async (how, shown) => {
    const { id: execution } = await start({ keep_output: true });
    expect(await look(), "while it runs").toMatchObject({ examined: 1, changed: 0, failed: 0 });
    const fake = world.host.executions.last;
    fake.write("half");
    if (how === "has exited") fake.end(3);
    else world.host.executions.all.clear();
    await sql`update kept_executions set started_at = started_at - interval '2 minutes'`.execute(world.db);
    expect(await look()).toMatchObject({ examined: 1, changed: 1, failed: 0 });
    expect(await kept(execution)).toMatchObject(shown);
    expect(await statusOf()).toBe("running");
    expect(await look(), "once").toMatchObject({ examined: 0, changed: 0 });
  },
);

test("what a streamed command has printed stays when its sandbox is destroyed, also where it was still at it", async () => {
  const answer = await stream();
  const fake = world.host.executions.last;
  fake.write("half");
  expect((await world.call("DELETE", vm)).status).toBe(204);
  expect(await kept(fake.id)).toMatchObject({
    ...{ status: "ended", exit: null, stdout: "half", destroys_sandbox: false },
    reason: "its sandbox was destroyed while it ran",
  });
  await answer.body?.cancel();
});

test("a guest that says that its command took longer than there are years is shown with the last of them", async () => {
  const { id: execution } = await start({ keep_output: true });
  world.host.executions.last.end(0, { duration_ms: 9e15 });
  expect(await kept(execution)).toMatchObject({ status: "exited", ended_at: "9999-01-01T00:00:00.000Z" });
});

test("of a long output the end is kept, each byte in its own stream", async () => {
  const { id: execution } = await start({ keep_output: true });
  const fake = world.host.executions.last;
  const piece = Buffer.alloc(64 * 1024, "x");
  for (let bytes = 0; bytes < EXECUTION_WINDOW_BYTES; bytes += piece.length) fake.write(piece);
  fake.write("the end", "stderr");
  fake.end();
  await world.call("DELETE", vm);
  const { stdout, stderr, output_bytes } = await kept(execution);
  expect([stdout.length, stderr, output_bytes]).toEqual([
    EXECUTION_WINDOW_BYTES,
    "the end",
    EXECUTION_WINDOW_BYTES + 7,
  ]);
});

test("where the output cannot be read, the sandbox ends all the same, and the row says why there is none", async () => {
  const { id: execution } = await start({ keep_output: true });
  world.host.executions.last.end();
  world.host.executions.last.breaks = new SkerryError("guest_failed", "It does not answer.");
  expect((await world.call("DELETE", vm)).status).toBe(204);
  expect(await statusOf()).toBe("destroyed");
  expect(await look()).toMatchObject({ changed: 1 });
  expect(await kept(execution)).toMatchObject({
    ...{ status: "ended", exit: null, stdout: "", reason: "its sandbox ended: destroyed by request" },
  });
});

test("a command that could not be started leaves nothing behind, and takes nobody's place", async () => {
  const refused = await world.call("POST", `${vm}/executions`, {
    body: { command: "reset", keep_output: true },
  });
  expect([refused.status, refused.body["code"]]).toEqual([422, "workdir_not_found"]);
  expect((await world.call<KeptExecutionList>("GET", "/v1/executions")).body.items).toEqual([]);
  await start({ keep_output: true });
  const second = await world.call("POST", `${vm}/executions`, {
    body: { command: "true", destroy_sandbox: true },
  });
  expect([second.status, second.body["code"]]).toEqual([429, "sandbox_busy"]);
  expect(world.host.executions.all.size).toBe(1);
});

test("one that never began ends with its sandbox when its host knows nothing of it", async () => {
  const { id: execution } = await start({ destroy_sandbox: true });
  world.host.executions.all.clear();
  expect(await look(), "it may still be on its way").toMatchObject({ changed: 0, failed: 0 });
  await sql`update kept_executions set started_at = started_at - interval '2 minutes'`.execute(world.db);
  expect(await look()).toMatchObject({ changed: 1, failed: 0 });
  expect(await statusOf()).toBe("destroyed");
  await look();
  expect(await kept(execution)).toMatchObject({ status: "ended", exit: null });
});

test.each([
  ["a machine", { keep_output: true }, 400, "bad_request"],
  ["a machine", { destroy_sandbox: true }, 400, "bad_request"],
] as const)("%s keeps nothing: %j", async (_what, body, status, code) => {
  const path = `/v1/machines/${(await world.createMachine()).id}/executions`;
  const answer = await world.call("POST", path, { body: { command: "true", ...body } });
  expect([answer.status, answer.body["code"]]).toEqual([status, code]);
});

test("an answer in one piece keeps nothing, and a token that may not destroy has no sandbox destroyed", async () => {
  const whole = await world.call("POST", `${vm}/execute`, { body: { command: "true", keep_output: true } });
  expect([whole.status, whole.body["code"]]).toEqual([400, "bad_request"]);
  const { body } = await world.call<{ secret: string }>("POST", "/v1/auth/tokens", {
    body: { name: "execute", scopes: ["sandboxes:execute"] },
  });
  const answer = await world.call("POST", `${vm}/executions`, {
    body: { command: "true", destroy_sandbox: true },
    token: body.secret ?? (body as unknown as { token: string }).token,
  });
  expect([answer.status, answer.body["code"]]).toEqual([403, "forbidden"]);
});

test("another organization sees none, and the deletion of an organization takes them", async () => {
  const members = new Members(world);
  const { id: organization, path } = await members.newOrganization();
  const { secret } = await members.newMember("owner", path);
  const { id: execution } = await start({ keep_output: true });
  const list = await world.call<KeptExecutionList>("GET", "/v1/executions", { token: secret });
  expect(list.body.items).toEqual([]);
  const one = await world.call("GET", `/v1/executions/${execution}`, { token: secret });
  expect([one.status, one.body["code"]]).toEqual([404, "execution_not_found"]);

  const sandbox = await world.call<{ id: string }>("POST", "/v1/sandboxes", {
    body: { template: "base" },
    token: secret,
  });
  const theirs = `/v1/sandboxes/${sandbox.body.id}`;
  const body = { command: "true", keep_output: true };
  await done(201, world.call("POST", `${theirs}/executions`, { body, token: secret }));
  await done(204, world.call("DELETE", theirs, { token: secret }));
  const left = async () =>
    (await sql`select 1 from kept_executions where org_id = ${organization}`.execute(world.db)).rows.length;
  expect(await left()).toBe(1);
  await done(204, world.call("DELETE", path, { token: secret }));
  expect(await left()).toBe(0);
});

test("each that ends removes what is too much of those that ended before", async () => {
  const { id: execution } = await start({ keep_output: true });
  await sql`
    insert into kept_executions (id, org_id, sandbox_id, command, destroys_sandbox, started_at, ended_at)
    select 'exe_' || lpad(number::text, 26, '0'), (select org_id from kept_executions limit 1), 'sbx_' || number, 'true', false,
      now() - interval '1 hour', now() - interval '1 hour'
    from generate_series(1, ${endedExecutions.rowsMax + 20}) number`.execute(world.db);
  world.host.executions.last.end();
  await world.call("DELETE", vm);
  const { rows } = await sql<{ count: string }>`select count(*) from kept_executions`.execute(world.db);
  expect(Number(rows[0]?.count)).toBe(endedExecutions.rowsMax);
  expect((await kept(execution)).status).toBe("exited");
});
