// Health checks of a guest that is in the test's hands, honest or not.

import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import type { HostCheck } from "@skerry/contract/host-api/checks";
import { SkerryError } from "@skerry/contract/errors";
import { afterCheck, begunAt, type Counted } from "../src/vm/checks/check-state.ts";
import { Checks, type CheckedVms } from "../src/vm/checks/checks.ts";
import { runCheck, type Verdict } from "../src/vm/checks/run-check.ts";
import type { GuestChannel } from "../src/guest/channel.ts";
import { GuestHalt } from "../src/vm/lifecycle/guest-halt.ts";
import type { LiveVm } from "../src/vm/start/clone.ts";
import type { Running } from "../src/vm/lifecycle/vm-table.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";

const never = new AbortController().signal;
const LONG_MS = 60_000;
const timing = { interval_ms: 1, timeout_ms: LONG_MS, failures: 2, grace_ms: 0 };
const httpCheck: HostCheck = { ...timing, http: { path: "/health?a=b", port: 8080 } };
const tcpCheck: HostCheck = { ...timing, tcp: { port: 5432 } };
const commandCheck: HostCheck = { ...timing, command: "pg_isready" };

let guest: FakeGuest;
let channel: GuestChannel;
let peer: Peer;
beforeEach(async () => {
  guest = await FakeGuest.start();
  ({ channel, peer } = await guest.greeted());
});
afterEach(async () => {
  channel.close("the test is over");
  await guest[Symbol.asyncDispose]();
});

async function answered(text: string): Promise<Verdict> {
  const { verdict } = runCheck(channel, httpCheck, never);
  const { id, operation } = await peer.opened();
  expect(operation).toMatchObject({ op: "connect", port: 8080 });
  await peer.send(encodeJson(frameTypes.head, id, {}));
  const asked = (await peer.next("data")).payload.toString();
  expect(asked).toMatch(/^GET \/health\?a=b HTTP\/1\.1\r\nHost: localhost\r\n/);
  if (text !== "") await peer.send(encodeFrame(frameTypes.data, id, Buffer.from(text)));
  if (!text.includes("\n") && text.length < 1_024) await peer.close(id, {});
  return verdict;
}

test.each([
  ["HTTP/1.1 200 OK\r\n", undefined],
  ["HTTP/1.0 204\r\n", undefined],
  ["HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n", undefined],
  ["HTTP/1.1 404 Not Found\r\n\r\n", "HTTP 404"],
  ["HTTP/1.1 503 Away\r\n\r\n", "HTTP 503"],
  ["SSH-2.0-OpenSSH\r\n", "the answer is not HTTP"],
  ["", "the answer is not HTTP"],
  ["HTTP/1.1 200", "the answer is not HTTP"],
  [`HTTP/1.1 200 ${"x".repeat(10_000)}`, "the answer is not HTTP"],
])("an answer that begins with %j comes to %j", async (text, verdict) => {
  expect(await answered(text)).toBe(verdict);
});

test("a status that comes byte by byte is read, and what follows it is not waited for", async () => {
  const { verdict } = runCheck(channel, httpCheck, never);
  const { id } = await peer.opened();
  await peer.send(encodeJson(frameTypes.head, id, {}));
  for (const byte of "HTTP/1.1 200 OK\r\n")
    await peer.send(encodeFrame(frameTypes.data, id, Buffer.from(byte)));
  expect(await verdict).toBeUndefined();
  expect((await peer.next("reset")).stream).toBe(id);
});

test("what follows a status is read to its end, so that no server finds its connection reset while it writes", async () => {
  const { verdict, over } = runCheck(channel, httpCheck, never);
  const { id } = await peer.opened();
  await peer.send(encodeJson(frameTypes.head, id, {}));
  await peer.next("data");
  await peer.send(encodeFrame(frameTypes.data, id, Buffer.from("HTTP/1.1 200 OK\r\n")));
  for (let sent = 0; sent < 8; sent += 1)
    await peer.send(encodeFrame(frameTypes.data, id, Buffer.alloc(1_024, "x")));
  await peer.close(id, {});
  expect(await verdict).toBeUndefined();
  await over;
  // Frames come in order: a reset would be there before this.
  const next = channel.open({ op: "idle" });
  await expect.poll(() => peer.typesOf(id + 1)).toContain(frameTypes.open);
  expect(peer.typesOf(id)).not.toContain(frameTypes.reset);
  await peer.close((await peer.opened()).id, { idle: true });
  await next.result();
});

test("a check of a port alone passes with the connection, says nothing in it, and fails where there is none", async () => {
  const { verdict } = runCheck(channel, tcpCheck, never);
  const { id, operation } = await peer.opened();
  expect(operation).toMatchObject({ op: "connect", port: 5432 });
  await peer.send(encodeJson(frameTypes.head, id, {}));
  expect(await verdict).toBeUndefined();
  expect((await peer.next("reset")).stream).toBe(id);
  expect(peer.typesOf(id)).not.toContain(frameTypes.data);
  const refused = runCheck(channel, tcpCheck, never);
  const second = await peer.opened();
  await peer.send(encodeJson(frameTypes.reset, second.id, { code: "connection_refused", message: "" }));
  expect(await refused.verdict).toBe("nothing listens on the port");
});

test("a port on which nothing listens is a failure that says so, and a guest's own words are none of it", async () => {
  const refused = runCheck(channel, httpCheck, never);
  const first = await peer.opened();
  await peer.send(encodeJson(frameTypes.reset, first.id, { code: "connection_refused", message: "<b>" }));
  expect(await refused.verdict).toBe("nothing listens on the port");
  const odd = runCheck(channel, httpCheck, never);
  const second = await peer.opened();
  await peer.send(encodeJson(frameTypes.reset, second.id, { code: "odd", message: "\u001b[31m<b>" }));
  expect(await odd.verdict).toBe("the guest's agent refused the check");
});

test.each([httpCheck, tcpCheck, commandCheck])(
  "a guest that never answers %j is canceled in time, and stays",
  async (check) => {
    const { verdict } = runCheck(channel, { ...check, timeout_ms: 1 }, never);
    const { id } = await peer.opened();
    expect(await verdict).toBe("timed out after 1 ms");
    expect((await peer.next("reset")).stream).toBe(id);
    // A guest that lets other deadlines pass is dropped.
    const next = channel.open({ op: "idle" });
    await peer.close((await peer.opened()).id, { idle: true });
    expect(await next.result()).toEqual({ idle: true });
  },
);

test("a command passes by its exit status, and is told its bounds", async () => {
  const passed = runCheck(channel, commandCheck, never);
  const first = await peer.opened();
  expect(first.operation).toMatchObject({ op: "execute", command: "pg_isready", timeout_ms: LONG_MS });
  await peer.close(first.id, { exit_code: 0 });
  expect(await passed.verdict).toBeUndefined();
  const failed = runCheck(channel, commandCheck, never);
  await peer.close((await peer.opened()).id, { exit_code: 2 });
  expect(await failed.verdict).toBe("the command exited with 2");
});

test("a guest that sends more output than its limit fails the check and is read no more", async () => {
  const { verdict } = runCheck(channel, commandCheck, never);
  const { id } = await peer.opened();
  for (let sent = 0; sent < 32; sent += 1)
    await peer.send(encodeFrame(frameTypes.data, id, Buffer.alloc(1_024)));
  expect(await verdict).toBe("the command printed more than its limit");
  expect((await peer.next("reset")).stream).toBe(id);
});

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

/** One verdict each second from 1 on; `grace` is its last second in which failures do not count. */
function after(verdicts: readonly Verdict[], grace = 0): Counted {
  const step = (state: Counted, verdict: Verdict, index: number) =>
    afterCheck(state, verdict, { failures: 2, at: at(index + 1), inGrace: index + 1 <= grace });
  return verdicts.reduce(step, begunAt(at(0)));
}

test("so many failures in a row make it failing, and one check that passes makes it passing", () => {
  expect(after([undefined, "no", undefined, "no"])).toMatchObject({
    status: "passing",
    since: at(1).toISOString(),
  });
  const failing = after([undefined, "no", "none", "never"]);
  expect(failing).toMatchObject({ status: "failing", since: at(3).toISOString(), reason: "never" });
  expect(after([undefined, "no", "no", undefined])).toMatchObject({ status: "passing", reason: null });
});

test("failures within the grace do not count, until a first check has passed", () => {
  expect(after(["no", "no", "no"], 3)).toMatchObject({ status: "starting", reason: "no" });
  expect(after(["no", "no", "no", "no"], 3)).toMatchObject({ status: "starting" });
  expect(after(["no", "no", "no", "no", "no"], 3)).toMatchObject({ status: "failing" });
  expect(after([undefined, "no", "no"], 3)).toMatchObject({ status: "failing" });
});

/** A host with one VM, as checks see it. */
function vms(guestHalt: GuestHalt): CheckedVms & { isThere: boolean } {
  const vm = { guestHalt, live: { channel }, record: { started_at: at(0).toISOString() } };
  const there = {
    isThere: true,
    running: () => {
      if (!there.isThere) throw new SkerryError("vm_not_running", "It has ended.");
      return vm as unknown as Running;
    },
    usable: async () => there.running(),
  };
  return there;
}

/** The halt of a guest that is never halted here: it never says that it is idle. */
const awake = () =>
  new GuestHalt({ channel } as unknown as LiveVm, pino({ level: "silent" }), { atOnce: false });

test("checks of one VM come one after the other, and changes of its status alone are counted", async () => {
  const checks = new Checks(vms(awake()));
  await checks.set("a", { execution_id: "1", version: 1, check: commandCheck });
  const answer = async (exitCode: number) => peer.close((await peer.opened()).id, { exit_code: exitCode });
  await answer(0);
  await expect
    .poll(() => checks.list())
    .toMatchObject([{ id: "a", execution_id: "1", version: 1, status: "passing" }]);
  const changes = checks.changes;
  for (const code of [0, 1, 0, 1, 1]) await answer(code);
  await expect
    .poll(() => checks.list()[0])
    .toMatchObject({ status: "failing", reason: "the command exited with 1" });
  expect(checks.changes).toBe(changes + 1);
  checks.close();
  expect(checks.list()).toEqual([]);
});

test("until it has passed within its grace, a check does not wait for its interval", async () => {
  const checks = new Checks(vms(awake()));
  const slow = { ...commandCheck, interval_ms: 3_600_000, grace_ms: Number.MAX_SAFE_INTEGER };
  await checks.set("a", { execution_id: "1", version: 1, check: slow });
  for (const code of [1, 1, 0]) await peer.close((await peer.opened()).id, { exit_code: code });
  await expect.poll(() => checks.list()[0]?.status).toBe("passing");
  checks.close();
});

test("a guest that keeps a canceled check gets no other beside it, and fails", async () => {
  const checks = new Checks(vms(awake()));
  await checks.set("a", { execution_id: "1", version: 1, check: { ...commandCheck, timeout_ms: 1 } });
  const { id } = await peer.opened();
  await expect.poll(() => checks.list()[0]?.reason).toBe("the check before has not ended in the guest");
  expect(checks.list()[0]?.status).toBe("failing");
  const next = peer.opened();
  await peer.close(id, { exit_code: 0 });
  expect((await next).id).not.toBe(id);
  checks.close();
});

test("a check is replaced by a later one alone, removed by one without a check, and forgotten with its VM", async () => {
  const there = vms(awake());
  const checks = new Checks(there);
  await checks.set("a", { execution_id: "1", version: 2, check: commandCheck });
  await checks.set("a", { execution_id: "1", version: 1, check: httpCheck });
  expect(checks.list()).toMatchObject([{ version: 2 }]);
  await checks.set("a", { execution_id: "1", version: 3 });
  expect(checks.list()).toEqual([]);
  await checks.set("a", { execution_id: "1", version: 4, check: commandCheck });
  there.isThere = false;
  await peer.close((await peer.opened()).id, { exit_code: 0 }).catch(() => undefined);
  await expect.poll(() => checks.list()).toEqual([]);
  await expect(checks.set("a", { execution_id: "1", version: 5, check: commandCheck })).rejects.toThrow(
    "ended",
  );
});

test("a check is no use of the guest, and a move does not wait for it", async () => {
  const guestHalt = awake();
  const checks = new Checks(vms(guestHalt));
  await checks.set("a", { execution_id: "1", version: 1, check: commandCheck });
  const { id } = await peer.opened();
  const holding = guestHalt.hold({ patienceMs: 0, signal: AbortSignal.timeout(LONG_MS) });
  expect((await peer.next("reset")).stream).toBe(id);
  const hold = await holding;
  // It was broken off, so it says nothing.
  expect(checks.list()).toMatchObject([{ status: "starting", last_checked_at: null }]);
  checks.close();
  hold.release();
});
