// A host process that is told to stop lets go of its VMs, which run on: what is under way in them is told
// that the host is restarted, and not that the guest has failed.

import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { ChildProcess } from "node:child_process";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import { PORT_PROTOCOL } from "@skerry/contract/host-api/ports";
import type { Host } from "../src/app/host.ts";
import { buildServer } from "../src/http/server.ts";
import type { HostServer } from "../src/http/conventions.ts";
import type { VmEngine } from "../src/vm/engine/engine.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";
import { FakeQemu } from "./support/fake-qemu.ts";
import { identityOf, leave, recordIn } from "./support/records.ts";
import { EngineStub, idle, noMoves } from "./support/stub-engine.ts";

let folder: string;
let engine: VmEngine;
let server: HostServer;
let guest: FakeGuest;
let peer: Peer;
let qemu: FakeQemu;
let child: ChildProcess;

async function runs(id: string): Promise<void> {
  const machine = { command: null, keeps_disk: true, stopping: false };
  const record = recordIn(join(folder, "vms"), id, {
    process: await identityOf(child),
    ...(id.startsWith("mch_") ? { machine } : {}),
  });
  await leave(record);
  qemu = await FakeQemu.listen(join(record.folder, "qmp.sock"));
  qemu.status = "running";
  await symlink(guest.path, join(record.folder, "agent.sock"));
  await engine.adopt(noMoves);
  peer = await guest.peer();
  await peer.answerHello();
  await engine.adopted(id);
}

beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-orderly-");
  guest = await FakeGuest.start();
  child = await idle();
  engine = new EngineStub(1_899_600_000).engineIn(join(folder, "vms"));
  // More of a host is not asked for here.
  const host = { engine, identity: { hostId: undefined } } as unknown as Host;
  server = buildServer(host, pino({ level: "silent" }));
  await server.listen({ path: join(folder, "host.sock") });
});
afterEach(async () => {
  engine.close();
  server.server.closeAllConnections();
  await server.close();
  await qemu[Symbol.asyncDispose]();
  await guest[Symbol.asyncDispose]();
  child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true, maxRetries: 50 });
});

interface Sent {
  readonly body?: object | string;
  readonly headers?: Record<string, string>;
}

async function call(method: string, path: string, { body, headers = {} }: Sent = {}): Promise<string> {
  const isJson = typeof body === "object";
  const sent = httpRequest({
    ...{ socketPath: join(folder, "host.sock"), method, path },
    headers: { ...(isJson ? { "content-type": "application/json" } : {}), ...headers },
  });
  sent.end(isJson ? JSON.stringify(body) : body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return `${answer.statusCode} ${(await buffer(answer)).toString("latin1")}`;
}

const named = "execution_id=exe_1";
const command = {
  ...{ execution_id: "exe_1", command: "sleep 100", workdir: null, env: {}, timeout_ms: 60_000 },
} as const;
const shell = { stdin: true, tty: true, cols: 80, rows: 24, reattach_ms: -1, follow: true } as const;
const bytes = { "content-type": "application/octet-stream" };

const calls: Readonly<Record<string, () => Promise<string>>> = {
  "a command": () => call("POST", "/vms/sbx_1/execute", { body: { ...command, output_limit: 100 } }),
  "a shell": () => call("PUT", "/vms/sbx_1/executions/exe_2", { body: { ...command, ...shell } }),
  "the output of an execution": () =>
    call("GET", `/vms/sbx_1/executions/exe_2/output?${named}&after=0&hold=true`),
  "the input of an execution": () =>
    call("POST", `/vms/sbx_1/executions/exe_2/input?${named}&end=true`, { body: "x", headers: bytes }),
  "a list of executions": () => call("GET", `/vms/sbx_1/executions?${named}`),
  "a download": () => call("GET", `/vms/sbx_1/file?${named}&path=/a`),
  "an upload": () => call("PUT", `/vms/sbx_1/file?${named}&path=/a&mode=420`, { body: "x", headers: bytes }),
  "an archive": () => call("GET", `/vms/sbx_1/archive?${named}&path=/a`),
  "an archive that is unpacked": () =>
    call("PUT", `/vms/sbx_1/archive?${named}&path=/a`, { body: "x", headers: bytes }),
  "a watch": () => call("GET", `/vms/sbx_1/watch?${named}&path=/a&recursive=false`),
  "a list of ports": () => call("GET", `/vms/sbx_1/ports?${named}`),
};

const isUnavailable = (told: string): void => {
  expect(told).toContain('"code":"host_unavailable"');
  expect(told).not.toContain("guest_failed");
};

for (const [what, ask] of Object.entries(calls))
  test(`${what} that is under way hears that its host is restarted`, async () => {
    await runs("sbx_1");
    const asked = ask();
    await peer.opened();
    engine.close();
    isUnavailable(await asked);
    expect(child.exitCode ?? child.signalCode).toBeNull();
  });

test("output that has begun to come ends with that, too", async () => {
  await runs("sbx_1");
  const asked = call("POST", "/vms/sbx_1/execute", { body: { ...command, output_limit: 100 } });
  const { id } = await peer.opened();
  await peer.send(encodeFrame(frameTypes.data, id, Buffer.from("first line")));
  await expect.poll(() => engine.get("sbx_1").status).toBe("running");
  engine.close();
  isUnavailable(await asked);
});

test("a connection to a port ends with that, whether or not its guest has accepted it", async () => {
  await runs("sbx_1");
  for (const accepted of [false, true]) {
    const sent = httpRequest({
      ...{ socketPath: join(folder, "host.sock"), path: `/vms/sbx_1/ports/80?${named}` },
      headers: { connection: "upgrade", upgrade: PORT_PROTOCOL },
    });
    sent.end();
    const [, socket] = (await once(sent, "upgrade")) as [IncomingMessage, Duplex];
    const told = buffer(socket);
    const { id } = await peer.opened();
    if (accepted) await peer.send(encodeJson(frameTypes.head, id, {}));
    if (!accepted) continue;
    engine.close();
    isUnavailable((await told).toString("latin1"));
  }
});

test("what is asked once the host is stopping is told that at once", async () => {
  await runs("sbx_1");
  engine.close();
  isUnavailable(await call("GET", `/vms/sbx_1/executions?${named}`));
  isUnavailable(await call("POST", "/vms/sbx_1/execute", { body: { ...command, output_limit: 100 } }));
});

test("a stop of a machine that is under way is told that, and the process can end", async () => {
  await runs("mch_1");
  const stopped = call("POST", "/vms/mch_1/stop", { body: { execution_id: "exe_1", grace_ms: 60_000 } });
  await peer.opened();
  engine.close();
  isUnavailable(await stopped);
  expect(engine.get("mch_1").status).toBe("running");
});
