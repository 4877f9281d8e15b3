import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { ChannelClosed } from "../src/guest/channel.ts";
import { waitForEnd } from "../src/vm/lifecycle/wait-for-end.ts";
import { recordIn } from "./support/records.ts";

const record = recordIn("/nowhere", "sbx_1");

/** A QEMU whose connections the test closes, and what it has said of its end. */
function ending(shutdownReason: string | undefined) {
  const qmp = Promise.withResolvers<void>();
  const channel = Promise.withResolvers<ChannelClosed>();
  const kvm = Promise.withResolvers<void>();
  const connections = {
    qmp: { closed: qmp.promise, givenUp: kvm.promise, shutdownReason },
    channel: { closed: channel.promise },
  };
  return { connections, closeQmp: qmp.resolve, closeChannel: channel.resolve, giveUp: kvm.resolve };
}

const hangUp = new ChannelClosed("the guest's channel was closed", { hungUp: true });

test("a QEMU that writes to a slow disk while it ends is reported with its own reason", async () => {
  const qemu = ending("guest-panic");
  const end = waitForEnd(record, qemu.connections, undefined);
  qemu.closeChannel(hangUp);
  await sleep(1_200);
  qemu.closeQmp();
  expect(await end).toMatchObject({ cause: "guest_panicked" });
});

test("a QEMU that hung while it ended is reported as that, with the reason that it had given", async () => {
  const qemu = ending("guest-shutdown");
  const end = waitForEnd(record, qemu.connections, undefined, 20);
  qemu.closeChannel(hangUp);
  expect(await end).toMatchObject({
    cause: "qemu_ended",
    reason: "QEMU was ending with the reason guest-shutdown, and hung",
  });
});

test("a guest that KVM has given up has ended, though its QEMU lives on", async () => {
  const qemu = ending(undefined);
  const end = waitForEnd(record, qemu.connections, undefined);
  qemu.giveUp();
  expect(await end).toMatchObject({ cause: "qemu_ended", reason: "KVM could not execute the guest's code" });
});

test("an agent that broke the rules is reported at once", async () => {
  const qemu = ending(undefined);
  const end = waitForEnd(record, qemu.connections, undefined);
  qemu.closeChannel(new ChannelClosed("the agent sent a frame of an unknown type"));
  expect(await end).toMatchObject({
    cause: "guest_failed",
    reason: "the agent sent a frame of an unknown type",
  });
});
