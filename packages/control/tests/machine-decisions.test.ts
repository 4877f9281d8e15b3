// What becomes of a machine, as tables.

import { expect, test } from "vitest";
import type { Vm } from "@skerry/contract/host-api/vm";
import { machineReconcileActions, type MachineAction } from "../src/machines/machine-reconcile.ts";
import { exitReasonOf } from "../src/machines/exit-reason.ts";
import {
  backoffMs,
  giveUpReason,
  applyRestartPolicy,
  type EndedMachine,
} from "../src/machines/restart-policy.ts";
import type { MachineFact } from "../src/machines/machine-facts.ts";

const row = (extra: Partial<MachineFact> = {}): MachineFact => ({
  id: "a",
  org_id: "o",
  status: "running",
  desired: "running",
  restart_wished: false,
  version: 1,
  execution_id: "1",
  host_id: "h",
  stop_timeout_ms: 1,
  stopped_idle: false,
  health_check: null,
  check_version: 0,
  health: null,
  restart_policy: "on-failure",
  restart_max_retries: 10,
  retries: 0,
  host_lost: false,
  rollback_to: null,
  reason: null,
  attempts: 0,
  claimed: false,
  egress_due: false,
  waiting: false,
  has_run: true,
  is_unfinished_fork: false,
  ran_well: false,
  queued: false,
  due_in_ms: null,
  ...extra,
});
const unfinishedFork = (extra: Partial<MachineFact> = {}) =>
  row({ status: "creating", has_run: false, is_unfinished_fork: true, ...extra });
const vm = (extra: Partial<Vm> = {}): Vm => ({
  id: "a",
  execution_id: "1",
  template: "base",
  size: "s",
  status: "running",
  reason: null,
  started_at: "2026-01-01T00:00:00.000Z",
  ...extra,
});

function decided(machine: MachineFact | undefined, listed: Vm | undefined, hostId = "h"): string[] {
  const rows = machine === undefined ? [] : [machine];
  const here = rows.filter((one) => one.host_id === hostId);
  const vms = listed === undefined ? [] : [listed];
  return machineReconcileActions(hostId, here, vms, rows).map((action: MachineAction) => action.kind);
}

const stopped = vm({ status: "stopped" });
const gone = vm({ status: "gone" });
const old = (status: Vm["status"]) => vm({ status, execution_id: "0" });

test.each<[string, MachineFact | undefined, Vm | undefined, string[]]>([
  ["that runs is left alone", row(), vm(), []],
  ["whose VM has ended comes to its end", row(), gone, ["end"]],
  ["whose host does not have it any more comes to its end", row(), undefined, ["end"]],
  ["that its host stopped comes to its end", row(), stopped, ["end"]],
  ["of which only the disk of an earlier life is there comes to its end", row(), old("gone"), ["end"]],
  ["that runs although its owner stopped it is stopped", row({ desired: "stopped" }), vm(), ["stop"]],
  ["whose policy is not confirmed gets it", row({ egress_due: true }), vm(), ["egress"]],
  ["whose policy was tried in vain a moment ago waits", row({ egress_due: true, waiting: true }), vm(), []],
  ["that somebody creates is left alone", row({ status: "creating", claimed: true }), undefined, []],
  ["whose creation nobody works on has failed", row({ status: "creating", has_run: false }), vm(), ["end"]],
  ["that a fork still makes is left alone", unfinishedFork({ claimed: true }), vm(), []],
  ["of a fork that nobody works on is given up with the others", unfinishedFork(), vm(), ["abandon"]],
  ["of such a fork is given up also before it starts", unfinishedFork(), undefined, ["abandon"]],
  [
    "of a fork that failed with its host leaves nothing",
    unfinishedFork({ status: "failed" }),
    vm(),
    ["discard"],
  ],
  ["that somebody starts is left alone", row({ status: "starting", claimed: true }), old("stopped"), []],
  ["whose start nobody works on is adopted where it runs", row({ status: "starting" }), vm(), ["adopt"]],
  [
    "whose start its host goes on with is waited for",
    row({ status: "starting" }),
    vm({ status: "creating" }),
    [],
  ],
  [
    "whose start nobody works on has failed where it does not",
    row({ status: "starting" }),
    old("gone"),
    ["end"],
  ],
  ["that somebody stops is left alone", row({ status: "stopping", claimed: true }), vm(), []],
  ["whose stop nobody works on is stopped", row({ status: "stopping" }), vm(), ["stop"]],
  ["whose stop was tried in vain a moment ago waits", row({ status: "stopping", waiting: true }), vm(), []],
  ["that is stopped keeps its disk", row({ status: "stopped" }), stopped, []],
  ["that has failed keeps its disk", row({ status: "failed" }), gone, []],
  ["that should not run and does is halted", row({ status: "stopped", desired: "stopped" }), vm(), ["halt"]],
  ["that failed and runs is halted", row({ status: "failed" }), vm(), ["halt"]],
  ["that never ran and failed leaves nothing", row({ status: "failed", has_run: false }), vm(), ["discard"]],
  ["that its host brings back is adopted", row({ status: "failed", host_lost: true }), vm(), ["adopt"]],
  [
    "that its host brings back although its owner stopped it is halted",
    row({ status: "stopped", host_lost: true, desired: "stopped" }),
    vm(),
    ["halt"],
  ],
  [
    "whose earlier life runs on is halted",
    row({ status: "starting", claimed: true }),
    old("running"),
    ["halt"],
  ],
  ["that is destroyed leaves nothing", row({ status: "destroyed" }), stopped, ["discard"]],
  ["that nobody knows is halted", undefined, vm(), ["halt"]],
  ["that nobody knows keeps its disk", undefined, stopped, []],
  ["that is being destroyed is finished", row({ status: "destroying" }), vm(), ["finish"]],
  [
    "that waits for the start of its restart is queued",
    row({ status: "stopped", restart_wished: true }),
    stopped,
    ["queue"],
  ],
  [
    "that is queued is not queued again",
    row({ status: "stopped", restart_wished: true, queued: true }),
    stopped,
    [],
  ],
])("a machine %s", (_, machine, listed, expected) => {
  expect(decided(machine, listed)).toEqual(expected);
});

test("what a machine left on the host that it had before is removed there once it runs elsewhere, disk and all", () => {
  expect(decided(row(), old("gone"), "other")).toEqual(["discard"]);
  expect(decided(row(), old("running"), "other")).toEqual(["discard"]);
});

test.each(["starting", "stopped", "failed"] as const)(
  "a disk on another host stays while the machine is %s there: only one that runs has proved that it does not need it",
  (status) => {
    expect(decided(row({ status, claimed: true }), old("gone"), "other")).toEqual([]);
    expect(decided(row({ status, claimed: true }), old("running"), "other")).toEqual(["halt"]);
  },
);

const later = (status: Vm["status"]) => vm({ status, execution_id: "2" });

test("the disk of a machine whose row was restored from a backup of before it came here stays", () => {
  expect(decided(row(), later("gone"), "other")).toEqual([]);
  expect(decided(row(), later("stopped"), "other")).toEqual([]);
  expect(decided(row(), later("running"), "other")).toEqual(["halt"]);
});

test("what a move that was given up left on its target is removed", () => {
  expect(decided(row(), later("creating"), "other")).toEqual(["discard"]);
});

const unread = (cause: "disk_unreadable" | "not_adopted") =>
  vm({ status: "gone", execution_id: "unknown", cause, reason: "vm.json holds no record" });

test.each(["disk_unreadable", "not_adopted"] as const)(
  "a machine whose record its host does not understand has failed with the reason disk_unreadable, in every status (%s)",
  (cause) => {
    for (const status of ["running", "starting", "stopping", "stopped"] as const)
      expect(decided(row({ status }), unread(cause))).toEqual(["end"]);
    expect(exitReasonOf(unread(cause))).toMatchObject({
      reason: "disk_unreadable: vm.json holds no record",
      disk: cause === "not_adopted" ? "later" : "lost",
    });
    expect(decided(row({ status: "failed" }), unread(cause))).toEqual([]);
    expect(decided(row({ status: "destroyed" }), unread(cause))).toEqual(["discard"]);
    expect(decided(undefined, unread(cause))).toEqual([]);
  },
);

test.each<[string, Vm | undefined, string[]]>([
  ["runs there", vm(), ["adopt"]],
  ["is being woken there", vm({ status: "creating" }), []],
  ["has ended there", gone, ["return"]],
  ["has ended there in an earlier life", old("stopped"), ["return"]],
  ["is not there any more", undefined, ["return"]],
  ["has a record that is damaged", unread("disk_unreadable"), ["return"]],
  ["has a record that another version will understand", unread("not_adopted"), []],
])("a machine that failed with its host, and %s when the host is back", (_, listed, expected) => {
  const lost = row({ status: "failed", host_lost: true });
  if (listed?.status === "creating") return expect(decided(lost, listed)).not.toContain("return");
  expect(decided(lost, listed)).toEqual(expected);
  expect(decided({ ...lost, desired: "stopped" }, gone)).toEqual([]);
});

test("a machine that began to run while its host was read has not ended", () => {
  const starting = row({ status: "starting", claimed: true });
  expect(machineReconcileActions("h", [starting], [], [row()])).toEqual([]);
});

test.each<[string, Vm | undefined, string, number | null]>([
  ["its main process ended well", mainEnded(0, 0), "the main process exited with 0", 0],
  ["its main process failed", mainEnded(3, 0), "the main process exited with 3", 3],
  ["its main process was killed", mainEnded(137, 9), "the main process exited with 137", 137],
  ["it ran out of memory", ended("out_of_memory"), "the guest ran out of memory", null],
  ["its kernel panicked", ended("guest_panicked"), "the guest's kernel panicked", null],
  ["it shut down", ended("guest_shut_down"), "the guest shut down", null],
  ["QEMU was killed", ended("qemu_ended"), "the microVM's QEMU process ended", null],
  ["its agent broke", ended("guest_failed"), "the agent in the guest failed", null],
  ["its host lost it", ended("host_failed"), "its host could not go on with it", null],
  ["its host stopped it", stopped, "its host stopped it", null],
  ["its host is of an earlier version", gone, "its microVM ended, and its host does not know why", null],
  ["nobody knows", undefined, "its host does not have its microVM any more", null],
])("the reason says when %s", (_, listed, reason, exitCode) => {
  const memory = listed?.cause === "out_of_memory" ? { outOfMemory: true } : {};
  const cause =
    listed === undefined ? "lost" : (listed.cause ?? (listed.status === "stopped" ? "stopped" : "unknown"));
  const signal = exitCode === 137 ? { signal: 9 } : {};
  const succeeded = exitCode === 0;
  expect(exitReasonOf(listed)).toEqual({ reason, cause, exitCode, ...signal, succeeded, ...memory });
});

function mainEnded(exit_code: number, signal: number): Vm {
  return vm({ status: "gone", cause: "main_exited", exit: { exit_code, signal, oom_killed: false } });
}

function ended(cause: NonNullable<Vm["cause"]>): Vm {
  return vm({ status: "gone", cause });
}

test("what the host says of an end is taken over", () => {
  expect(exitReasonOf(vm({ status: "gone", cause: "qemu_ended", reason: "killed" })).reason).toBe("killed");
});

test("a host that says too much is cut short", () => {
  const { reason } = exitReasonOf(vm({ status: "gone", cause: "qemu_ended", reason: "x".repeat(9_000) }));
  expect(reason.length).toBeLessThan(400);
});

test.each([
  [0, 500, 1_000],
  [1, 1_000, 2_000],
  [2, 2_000, 4_000],
  [3, 4_000, 8_000],
  [4, 8_000, 16_000],
  [5, 16_000, 32_000],
  [6, 32_000, 64_000],
  [7, 64_000, 128_000],
  [8, 128_000, 256_000],
  [9, 150_000, 300_000],
  [10, 150_000, 300_000],
  [1_000_000, 150_000, 300_000],
])("after %i restarts in a row the next one comes after %i to %i ms", (retries, leastMs, mostMs) => {
  expect([backoffMs(retries, 0), backoffMs(retries, 1)]).toEqual([leastMs, mostMs]);
});

const machineThat = (extra: Partial<EndedMachine> = {}): EndedMachine => ({
  desired: "running",
  restart_policy: "on-failure",
  restart_max_retries: 10,
  retries: 0,
  ran_well: false,
  has_run: true,
  ...extra,
});

test.each<[string, Partial<EndedMachine>, boolean, string]>([
  ["no: what fails stays so", { restart_policy: "no" }, false, "rest"],
  ["on-failure: what fails is started again", {}, false, "restart"],
  ["on-failure: what has done its work is not", {}, true, "rest"],
  ["always: what has done its work is started again", { restart_policy: "always" }, true, "restart"],
  ["what was stopped stays so", { restart_policy: "always", desired: "stopped" }, false, "rest"],
  ["what never ran is not started again", { has_run: false }, false, "rest"],
  ["the last retry is one", { retries: 9 }, false, "restart"],
  ["after it comes none", { retries: 10 }, false, "give_up"],
  ["unless it has run well meanwhile", { retries: 10, ran_well: true }, false, "restart"],
  ["no retries at all", { restart_max_retries: 0 }, false, "give_up"],
  ["retries without end", { restart_max_retries: null, retries: 1_000 }, false, "restart"],
])("%s", (_, machine, succeeded, kind) => {
  expect(applyRestartPolicy(machineThat(machine), succeeded, 0).kind).toBe(kind);
});

test("ten healthy minutes make the backoff begin anew", () => {
  expect(applyRestartPolicy(machineThat({ retries: 8 }), false, 0)).toEqual({
    kind: "restart",
    retries: 9,
    delayMs: 128_000,
  });
  expect(applyRestartPolicy(machineThat({ retries: 8, ran_well: true }), false, 0)).toEqual({
    kind: "restart",
    retries: 1,
    delayMs: 500,
  });
});

test("giving up says how often it was tried", () => {
  expect([0, 1, 10].map(giveUpReason)).toEqual([
    "it is not started again, because its `max_retries` is 0",
    "it is not started again: it was started once without running for 10m",
    "it is not started again: it was started 10 times without running for 10m",
  ]);
});
