// Where programs read what an answer says, it says what E2B's says.

import { beforeAll, expect, test } from "vitest";
import { createE2bSandbox, headersInto, rpcClient, type E2bSandbox } from "./support/e2b.ts";
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
