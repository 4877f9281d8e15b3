// A guest whose root user turns against the agent, the kernel and the channel to the host. It may end its own sandbox, with a
// reason that says what happened; the host and its other sandboxes must not notice.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { qemuProcesses } from "./support/leftovers.ts";
import { qemuPidOf, until } from "./support/platform.ts";
import { sharedPlatform } from "./support/shared.ts";

const REASON_DEADLINE_MS = 30_000;

const platform = await sharedPlatform();
let neighbour: Sandbox;

beforeAll(async () => {
  neighbour = await platform.client.sandboxes.create({ template: "base", timeout: "30m" });
});
afterAll(() => neighbour.destroy());

/** Writes to the agent's own end of the channel, through a copy of the agent's open file (`pidfd_getfd`). */
const writePort = (bytes: string): string => `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
port = next(fd for fd in os.listdir("/proc/1/fd") if "vport" in os.readlink("/proc/1/fd/" + fd))
agent = libc.syscall(434, 1, 0)
fd = libc.syscall(438, agent, int(port), 0)
assert agent >= 0 and fd >= 0, os.strerror(ctypes.get_errno())
os.set_blocking(fd, True)
while True:
  os.write(fd, ${bytes})
`;
const python = (program: string): string =>
  `cat >/tmp/attack.py <<'END'\n${program}\nEND\npython3 /tmp/attack.py`;

/** Of a command that the agent cannot answer any more: the host waits for that long, and somewhat longer. */
const UNANSWERED = "5s";

const attacks: [string, string, RegExp, string?][] = [
  [
    "writes random bytes to the agent's channel",
    python(writePort("os.urandom(65536)")),
    /^the microVM ended: the guest's agent broke the protocol: /,
  ],
  [
    "sends the host frames of streams that it never opened",
    python(writePort("b'\\x03\\x01\\x00\\x00\\x00\\xff\\xff\\x00\\x00x'")),
    /^the microVM ended: the guest's agent broke the protocol: /,
  ],
  [
    "resets its machine",
    "echo b >/proc/sysrq-trigger",
    /^the microVM ended: the guest rebooted or its kernel panicked$/,
  ],
  [
    "powers its machine off",
    "echo o >/proc/sysrq-trigger; sleep 60",
    /^the microVM ended: the guest shut down$/,
  ],
  [
    "panics its kernel",
    "echo c >/proc/sysrq-trigger",
    /^the microVM ended: the guest rebooted or its kernel panicked$/,
  ],
  [
    "freezes the agent",
    "mkdir /sys/fs/cgroup/ice; echo 1 >/sys/fs/cgroup/ice/cgroup.procs && echo 1 >/sys/fs/cgroup/ice/cgroup.freeze",
    /^the microVM ended: the guest's agent did not answer within \d+ ms$/,
    UNANSWERED,
  ],
  [
    "takes the channel's driver away",
    "echo $(basename $(readlink -f /sys/class/virtio-ports/*/device)) >/sys/bus/virtio/drivers/virtio_console/unbind",
    /^the microVM ended: the guest's agent did not answer within \d+ ms$/,
    UNANSWERED,
  ],
];

// At once: they wait more than they work.
test.concurrent.each(attacks)(
  "a guest that %s fails with a reason, and its neighbour goes on",
  async (_what, command, reason, timeout = "60s") => {
    const attacker = await platform.client.sandboxes.create({ template: "base", timeout: "10m" });
    const pid = await qemuPidOf(platform, attacker.id);
    await expect(attacker.execute(command, { timeout })).rejects.toThrow("The microVM is gone: ");
    await until(
      "the attacked sandbox has failed",
      async () => (await attacker.refresh()).info.status !== "running",
      REASON_DEADLINE_MS,
    );
    expect(attacker.info.status).toBe("failed");
    expect(attacker.info.reason).toMatch(reason);
    expect((await neighbour.execute("echo alive")).stdout).toBe("alive\n");
    await attacker.destroy();
    await until("its process is gone", async () =>
      (await qemuProcesses(platform.instance)).every((qemu) => qemu.pid !== pid),
    );
  },
);

test("the kernel of a sandbox delivers neither a stop nor a kill to its agent", async () => {
  const run = await neighbour.execute("kill -STOP 1; kill -KILL 1; echo survived");
  expect(run.stdout).toBe("survived\n");
  expect((await neighbour.execute("echo alive")).stdout).toBe("alive\n");
});

test("a guest that deletes its system and unmounts everything still answers, and can be destroyed", async () => {
  const vandal = await platform.client.sandboxes.create({ template: "base", timeout: "10m" });
  await vandal.execute(
    "umount -l /sys/fs/cgroup /sys /dev/pts /run /proc; rm -rf --no-preserve-root /usr /etc /lib /bin",
  );
  const after = await vandal.execute("echo alive").then(
    (run) => run.exit_code,
    (error: Error) => error.message,
  );
  expect(after).not.toBe(0);
  expect((await vandal.refresh()).info).toMatchObject({ status: "running", reason: null });
  expect((await neighbour.execute("echo alive")).stdout).toBe("alive\n");
  await vandal.destroy();
  expect((await vandal.refresh()).info.status).toBe("destroyed");
});
