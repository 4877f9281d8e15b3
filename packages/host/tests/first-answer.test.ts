import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { GuestChannel } from "../src/guest/channel.ts";
import { guestDeadlines, probeDeadlines } from "../src/vm/record/guest-deadlines.ts";
import { lastWordsIn } from "../src/vm/qemu/qemu-log.ts";
import { firstAnswer, KvmInternalError } from "../src/guest/first-answer.ts";

const never = Promise.withResolvers<GuestChannel>().promise;
const closed = Promise.withResolvers<void>().promise;
// Only handed on.
const channel = {} as GuestChannel;

test("a guest that KVM has given up is not waited for", async () => {
  const statuses = ["running", "running", "internal-error"];
  const qmp = { closed, execute: async () => ({ status: statuses.shift() }) };
  await expect(firstAnswer(qmp, never)).rejects.toThrow(KvmInternalError);
});

test("a guest whose QEMU has ended is not waited for, also where nothing had connected to it before", async () => {
  const qmp = { closed: Promise.resolve(), execute: async () => ({ status: "running" }) };
  await expect(firstAnswer(qmp, never)).rejects.toThrow("the guest's QEMU has ended");
});

test("a guest that answers is had, also where QEMU says nothing, and QEMU is not asked any more", async () => {
  let asked = 0;
  const qmp = {
    closed,
    execute: async () => {
      asked += 1;
      throw new Error("no answer");
    },
  };
  const answered = await firstAnswer(
    qmp,
    sleep(500).then(() => channel),
  );
  expect(answered).toBe(channel);
  const before = asked;
  expect(before).toBeGreaterThan(0);
  await sleep(500);
  expect(asked).toBe(before);
});

test("a guest that does not answer in time has failed with that reason", async () => {
  const qmp = { closed, execute: async () => ({ status: "running" }) };
  await expect(firstAnswer(qmp, Promise.reject(new Error("too late")))).rejects.toThrow("too late");
});

test("QEMU's last words are its last line, or KVM's own error without the registers behind it", () => {
  expect(lastWordsIn("")).toBe("");
  expect(lastWordsIn("qemu: warning: one\nqemu: failed to open /dev/kvm\n")).toBe(
    "qemu: failed to open /dev/kvm",
  );
  const log = [
    "qemu: warning: one",
    "KVM internal error. Suberror: 1",
    "emulation failure",
    "RAX=1",
    "Code=0f",
  ];
  expect(lastWordsIn(log.join("\n"))).toBe("KVM internal error. Suberror: 1 emulation failure");
});

test("one factor makes every deadline of guests longer", () => {
  for (const deadlines of [guestDeadlines, probeDeadlines]) {
    const [usual, longer] = [Object.values(deadlines(1)), Object.values(deadlines(20))];
    expect(usual.length).toBeGreaterThan(4);
    expect(longer).toEqual(usual.map((ms: number) => ms * 20));
  }
});
