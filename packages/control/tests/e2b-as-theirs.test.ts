// Where programs read what an answer says, it says what E2B's says.

import { beforeAll, expect, test } from "vitest";
import { createE2bSandbox, headersInto, nativeId, rpcClient, type E2bSandbox } from "./support/e2b.ts";
import { Process } from "../src/e2b/wire/process_pb.js";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let sandbox: E2bSandbox;
beforeAll(async () => {
  sandbox = await createE2bSandbox(world);
});

const into = (method: string, path: string, headers: Record<string, string> = headersInto(sandbox)) =>
  world.call(method, `/e2b/sandbox${path}`, { token: "", headers, ...(method === "POST" && { body: {} }) });

test("a file that is not there is named by its whole path", async () => {
  const answer = await into("GET", "/files?path=demo/x.txt");
  expect([answer.status, answer.body]).toEqual([
    404,
    { code: 404, message: "path '/root/demo/x.txt' does not exist" },
  ]);
});

test("a call without a token is refused before the protocol begins, so its code is the status", async () => {
  const named = { "e2b-sandbox-id": sandbox.sandboxID, "content-type": "application/json" };
  for (const procedure of [
    "process.Process/List",
    "process.Process/Start",
    "filesystem.Filesystem/ListDir",
  ]) {
    const answer = await into("POST", `/${procedure}`, named);
    expect([answer.status, answer.body["code"]], procedure).toEqual([401, 401]);
  }
});

test("no token initialises a sandbox", async () => {
  for (const headers of [headersInto(sandbox), { "e2b-sandbox-id": sandbox.sandboxID }]) {
    const answer = await into("POST", "/init", { ...headers, "content-type": "application/json" });
    expect([answer.status, answer.body["code"]]).toEqual([401, 401]);
  }
});

test("whether the server answers is told without a token", async () => {
  expect((await world.call("GET", "/e2b/health", { token: "" })).status).toBe(204);
});

test("an id is also taken with that of its client behind it", async () => {
  const { sandboxID: id } = sandbox;
  const detail = await world.call("GET", `/e2b/sandboxes/${id}`);
  const both = `${id}-${String(detail.body["clientID"])}`;
  const same = await world.call("GET", `/e2b/sandboxes/${both}`);
  expect([same.status, same.body["sandboxID"]]).toEqual([200, id]);
  expect((await into("GET", "/health", { ...headersInto(sandbox), "e2b-sandbox-id": both })).status).toBe(
    204,
  );
  expect((await world.call("GET", `/e2b/sandboxes/${id}-another`)).status).toBe(404);
});

test("input of no bytes changes nothing", async () => {
  const client = rpcClient(world, Process, { sandbox });
  const gone = new AbortController();
  const events = client.start(
    { process: { cmd: "/bin/bash", args: ["-l", "-c", "repeat"] }, stdin: true },
    { signal: gone.signal },
  );
  let pid = 0;
  for await (const { event } of events)
    if (event?.event.case === "start") {
      ({ pid } = event.event.value);
      break;
    }
  const process = { selector: { case: "pid", value: pid } } as const;
  const input = { input: { case: "stdin", value: new Uint8Array(0) } } as const;
  await client.sendInput({ process, input });
  expect((await client.list({})).processes.map((one) => one.pid)).toContain(pid);
  await client.closeStdin({ process });
  gone.abort();
});

test("a fork has the newer path too, and a snapshot without memory is refused in their words", async () => {
  const { sandboxID: id } = await createE2bSandbox(world);
  const fork = await world.call<{ sandbox: E2bSandbox }[]>("POST", `/e2b/v2/sandboxes/${id}/fork`, {
    body: { count: 2, memory: true },
  });
  expect([fork.status, fork.body.length]).toEqual([201, 2]);
  const left = await Promise.all(
    fork.body.map(async ({ sandbox: { sandboxID } }) => {
      const { body } = await world.call<{ endAt: string }>("GET", `/e2b/sandboxes/${sandboxID}`);
      return Date.parse(body.endAt) - Date.now();
    }),
  );
  for (const ms of left) expect(ms).toBeGreaterThan(200_000);
  const snapshot = await world.call("POST", `/e2b/sandboxes/${id}/snapshots`, { body: { memory: false } });
  expect([snapshot.status, snapshot.body["message"]]).toEqual([
    400,
    "Filesystem-only snapshots are not enabled for this team.",
  ]);
});

test("an id has no underscore, which TLS does not take in names of hosts; ours is taken as well", async () => {
  const { sandboxID: id } = sandbox;
  expect(id).toMatch(/^[0-9a-z]{26}$/);
  const byOurs = await world.call("GET", `/e2b/sandboxes/${nativeId(id)}`);
  expect([byOurs.status, byOurs.body["sandboxID"]]).toEqual([200, id]);
  const ours = { ...headersInto(sandbox), "e2b-sandbox-id": nativeId(id) };
  expect((await into("GET", "/health", ours)).status).toBe(204);
});

test("a process learns that it runs in a sandbox of theirs, and in which", async () => {
  const client = rpcClient(world, Process, { sandbox });
  for await (const { event } of client.start({ process: { cmd: "env" }, stdin: false })) void event;
  expect([...world.host.executions.all.values()].at(-1)?.command).toMatchObject({
    env: { E2B_SANDBOX: "true", E2B_SANDBOX_ID: sandbox.sandboxID },
    run_files: { "e2b/.E2B_SANDBOX": "true", "e2b/.E2B_SANDBOX_ID": sandbox.sandboxID },
  });
});

test("pages of all origins may call with a token, and learn from no cookie", async () => {
  const preflight = await fetch(`${world.url}/e2b/sandbox/process.Process/Start`, {
    method: "OPTIONS",
    headers: {
      origin: "https://app.test",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,connect-protocol-version,x-access-token",
    },
  });
  expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
  expect(preflight.headers.get("access-control-allow-headers")).toBe(
    "authorization,connect-protocol-version,x-access-token",
  );
  expect(preflight.headers.has("access-control-allow-credentials")).toBe(false);
  const answer = await fetch(`${world.url}/e2b/v2/sandboxes`, { headers: { origin: "https://app.test" } });
  expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([401, "*"]);
  const native = await fetch(`${world.url}/v1/sandboxes`, { headers: { origin: "https://app.test" } });
  expect(native.headers.has("access-control-allow-origin")).toBe(false);
});
