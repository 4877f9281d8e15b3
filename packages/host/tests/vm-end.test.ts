import { expect, test } from "vitest";
import { endOfMain, endOfQemu } from "../src/vm/lifecycle/end-reason.ts";

const panic = (why: string): string =>
  `work\n[ 12.3] Kernel panic - not syncing: ${why}\n[ 12.4] CPU: 0 PID: 1\n`;

test.each([
  ["nothing, so it was killed", undefined, "", "qemu_ended", /killed or crashed/],
  ["a reset, after a panic", "guest-reset", panic("sysrq triggered crash"), "guest_panicked", /panicked/],
  [
    "a reset, after a panic for want of memory",
    "guest-reset",
    panic("Out of memory: compulsory panic_on_oom is enabled"),
    "out_of_memory",
    /ran out of memory/,
  ],
  [
    "a reset, after a panic with nobody left to kill",
    "guest-reset",
    panic("System is deadlocked on memory"),
    "out_of_memory",
    /ran out of memory/,
  ],
  ["a reset, without a panic", "guest-reset", "work\n", "guest_shut_down", /^the guest rebooted$/],
  [
    "a reset, and nobody kept the console",
    "guest-reset",
    undefined,
    "guest_shut_down",
    /or its kernel panicked/,
  ],
  ["a shutdown", "guest-shutdown", "", "guest_shut_down", /shut down/],
  ["a word that we do not know", "host-error", "", "qemu_ended", /host-error/],
])("when QEMU says %s, the reason says which", (_what, word, console, ...expected) => {
  const end = endOfQemu(word, console);
  const [cause, reason = ""] = expected;
  expect(end).toMatchObject({ status: "gone", cause });
  expect(end.reason).toMatch(reason);
});

test.each([
  [{ exit_code: 0, signal: 0, oom_killed: false }, "main_exited", "the main process exited with 0"],
  [{ exit_code: 3, signal: 0, oom_killed: false }, "main_exited", "the main process exited with 3"],
  [{ exit_code: 139, signal: 11, oom_killed: false }, "main_exited", "the main process was ended by SIGSEGV"],
  [
    { exit_code: 162, signal: 34, oom_killed: false },
    "main_exited",
    "the main process was ended by signal 34",
  ],
  [{ exit_code: 137, signal: 9, oom_killed: true }, "out_of_memory", /^the guest ran out of memory/],
  // A shell whose command was the victim.
  [{ exit_code: 137, signal: 0, oom_killed: true }, "out_of_memory", /^the guest ran out of memory/],
  // A worker was the victim, and its master went on and finished.
  [{ exit_code: 0, signal: 0, oom_killed: true }, "main_exited", "the main process exited with 0"],
])("a main process that ended as %j is told as it was", (exit, cause, reason) => {
  const end = endOfMain(exit);
  expect(end).toMatchObject({ status: "gone", cause, exit });
  expect(end.reason).toMatch(reason);
});
