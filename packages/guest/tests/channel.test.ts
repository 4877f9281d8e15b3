import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import { encodeFrame, encodeJson, encodeWindow, frameTypes } from "@skerry/contract/frames";
import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { type Build, buildSanitized, type RunningAgent, startAgent } from "./support/sanitized.ts";

const BUILD_MS = 120_000;
let build: Build;
let agent: RunningAgent;
beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);
beforeEach(async () => void (agent = await startAgent(build)));
afterEach(async () => expect(await agent.stop()).toBe(""));

const cat = {
  op: "execute",
  command: "cat",
  env: {},
  timeout_ms: 20_000,
  stdin: true,
  output_limit: 0,
} as const;

function residentKib(): number {
  return Number(/^VmRSS:\s+(\d+)/mu.exec(readFileSync(`/proc/${agent.pid}/status`, "utf8"))?.[1]);
}

test("a ping comes back with its payload", async () => {
  expect((await agent.link.ping(Buffer.from("are you there"))).toString()).toBe("are you there");
});

test("a new hello ends everything of the old conversation, and stream numbers begin again", async () => {
  const old = Array.from({ length: 5 }, () => agent.link.open({ ...cat, command: "cat /dev/zero" }));
  while (old.some(({ stdout }) => stdout.length === 0)) await agent.link.ping(Buffer.from("x"));
  await agent.link.hello();
  await Promise.all(
    old.map(async ({ ended }) => await expect(ended).rejects.toThrow("a new conversation began")),
  );
  expect((await agent.link.execute("echo again")).stdout.toString()).toBe("again\n");
});

test("after random garbage a new hello works, again and again", async () => {
  const garbage = fc.sample(fc.uint8Array({ maxLength: 5000 }), 60);
  for (const bytes of garbage) {
    // oxlint-disable-next-line no-await-in-loop -- one conversation after the other
    await agent.link.send(Buffer.from(bytes));
    // oxlint-disable-next-line no-await-in-loop
    await agent.link.hello();
  }
  expect((await agent.link.execute("echo alive")).stdout.toString()).toBe("alive\n");
});

test("valid frames in no sensible order never break the agent, and take no memory for good", async () => {
  const frame = fc
    .record({
      type: fc.constantFrom(...Object.values(frameTypes).filter((type) => type > frameTypes.hello)),
      stream: fc.integer({ min: 0, max: 40 }),
      payload: fc.oneof(
        fc.constant(Buffer.from(JSON.stringify(cat))),
        fc.constant(Buffer.from(JSON.stringify({ op: "write", path: "/dev/none/x", mode: 0o644 }))),
        fc.constant(Buffer.from(JSON.stringify({ op: "list", path: "/usr/bin", limit: 100 }))),
        fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
        fc.integer({ min: 0, max: 64 * 1024 }).map((size) => Buffer.alloc(size, 1)),
      ),
    })
    .map(({ type, stream, payload }) => encodeFrame(type, stream, payload));
  for (const frames of fc.sample(fc.array(frame, { maxLength: 60 }), 30)) {
    // oxlint-disable-next-line no-await-in-loop
    await agent.link.send(Buffer.concat(frames));
    // oxlint-disable-next-line no-await-in-loop
    await agent.link.hello();
  }
  expect((await agent.link.execute("echo alive")).stdout.toString()).toBe("alive\n");
  expect(residentKib()).toBeLessThan(400 * 1024); // AddressSanitizer keeps what is freed for a while: 256 MiB
});

test("a stream that sends more than its credit is refused", async () => {
  const command = agent.link.open({ ...cat, command: "sleep 20" });
  for (let i = 0; i < 6; i += 1) {
    void agent.link.send(encodeFrame(frameTypes.data, command.stream, Buffer.alloc(64 * 1024)));
  }
  expect((await command.ended).result).toMatchObject({ code: "bad_request" });
});

test("credit beyond all measure counts as very much, not as very little", async () => {
  const command = agent.link.open({ ...cat, command: "head -c 2000000 /dev/zero" }, { grants: false });
  for (let i = 0; i < 3; i += 1) void agent.link.send(encodeWindow(command.stream, 0xffff_ffff));
  expect((await command.ended).stdout).toHaveLength(2_000_000);
});

test("a request that is not one is refused with its reason", async () => {
  const refused = await agent.link.open(Buffer.from('{"op":"read","path":"relative"}')).ended;
  expect(refused).toMatchObject({
    done: false,
    result: { code: "bad_request", message: "path is not absolute" },
  });
});

test("a host that reads nothing while it asks a lot gets every answer in the end", async () => {
  agent.socket.pause();
  const asked = Array.from({ length: 20_000 }, () => encodeFrame(frameTypes.ping, 0, randomBytes(40)));
  void agent.link.send(Buffer.concat(asked));
  const bad = Array.from({ length: 500 }, (_, i) => encodeJson(frameTypes.open, i + 1, { op: "none" }));
  void agent.link.send(Buffer.concat(bad));
  agent.socket.resume();
  const answered = agent.link.ping(Buffer.from("last"));
  expect((await answered).length).toBeGreaterThan(0);
  await agent.link.hello();
  expect((await agent.link.execute("echo alive")).stdout.toString()).toBe("alive\n");
});

test("a shutdown kills what runs, answers, and ends the agent", async () => {
  const command = agent.link.open({ ...cat, command: "sleep 300" });
  expect((await agent.link.open({ op: "shutdown" }).ended).result).toEqual({});
  await expect(command.ended).rejects.toThrow("the channel closed");
});
