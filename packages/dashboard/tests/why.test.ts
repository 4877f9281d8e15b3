import { expect, test } from "vitest";
import { hostStatuses } from "@skerry/contract/hosts/host-status";
import { Host } from "@skerry/contract/hosts/host";
import { MachineEnd } from "@skerry/contract/machines/machine-end";
import { Machine } from "@skerry/contract/machines/machine";
import { machineStatuses } from "@skerry/contract/machines/machine-status";
import { Move } from "@skerry/contract/moves/move";
import { moveStatuses } from "@skerry/contract/moves/move-status";
import { AuditEvent } from "@skerry/contract/audit/audit-event";
import { exampleOf } from "@skerry/contract/named";
import { BackgroundService } from "@skerry/contract/platform/background-service";
import { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { sandboxStatuses } from "@skerry/contract/sandboxes/sandbox-status";
import { Build } from "@skerry/contract/builds/build";
import { buildStatuses } from "@skerry/contract/builds/build-status";
import { Template } from "@skerry/contract/templates/template";
import { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { snapshotStatuses } from "@skerry/contract/snapshots/snapshot-status";
import { VmEvent } from "@skerry/contract/vms/events";
import type { Because } from "../src/why/because.ts";
import { serviceCondition } from "../src/why/service-condition.ts";
import { whyBuild, whyTemplate } from "../src/why/why-build.ts";
import { whyHost, type HostFacts } from "../src/why/why-host.ts";
import { whyMachine, type MachineFacts } from "../src/why/why-machine.ts";
import { whyMove } from "../src/why/why-move.ts";
import { whySandbox } from "../src/why/why-sandbox.ts";
import { whyService } from "../src/why/why-service.ts";
import { whySnapshot } from "../src/why/why-snapshot.ts";

const nowMs = Date.parse("2026-11-20T18:00:00.000Z");
const at = (agoS: number) => new Date(nowMs - agoS * 1_000).toISOString();
const act = exampleOf(AuditEvent);
const common = { nowMs, userId: act.actor.user_id ?? "" };
const host = { ...exampleOf(Host), status_since: at(60), last_heartbeat: at(3) };
const offline: Host = { ...host, status: "offline", last_heartbeat: at(95) };
const nothing: MachineFacts = { ...common, host: null, move: null, events: [], act: null, ends: [] };
const much: MachineFacts = {
  ...{ ...common, host: offline, move: exampleOf(Move), act },
  ...{ events: [exampleOf(VmEvent)], ends: [exampleOf(MachineEnd)] },
};
const sandbox = { ...exampleOf(Sandbox), created_at: at(40), expires_at: at(-90), reason: null };
const machine = {
  ...exampleOf(Machine),
  created_at: at(40),
  started_at: at(30),
  reason: null,
  restart_at: null,
};
const service = exampleOf(BackgroundService);
const template = exampleOf(Template);
const version: Template = { ...template, tags: ["42"], build_id: exampleOf(Build).id, created_at: at(60) };
const build: Build = { ...exampleOf(Build), created_at: at(60), started_at: at(50) };
const ended: Build = {
  ...build,
  finished_at: at(9),
  steps: build.steps.map((step) => ({ ...step, status: "failed", finished_at: at(10) })),
  error: {
    code: "build_step_failed",
    message: "The step exited with 1",
    step: 0,
    exit_code: 1,
    last_lines: [],
  },
};

/** Every status, with nothing known beside it and with much. */
const answers: readonly (readonly [string, Because])[] = [nothing, much].flatMap((facts, index) => {
  const known = index === 0 ? "nothing" : "much";
  const [reason, restarts] = index === 0 ? [null, 0] : ["the microVM ended: QEMU was killed", 3];
  const of = (kind: string, status: string, because: Because) =>
    [`${kind} ${status}, with ${known} known`, because] as const;
  const host = { ...exampleOf(Host), waits_for: reason };
  return [
    ...sandboxStatuses.map((status) =>
      of("sandbox", status, whySandbox({ ...sandbox, status, reason }, facts)),
    ),
    ...machineStatuses.map((status) =>
      of("machine", status, whyMachine({ ...machine, status, reason, restarts }, facts)),
    ),
    ...snapshotStatuses.map((status) =>
      of("snapshot", status, whySnapshot({ ...exampleOf(Snapshot), status, reason }, facts)),
    ),
    ...buildStatuses.map((status) =>
      of("build", status, whyBuild(index === 0 ? { ...build, status } : { ...ended, status }, facts)),
    ),
    ...(["ready", "on_demand", "building", "failed"] as const).map((status) =>
      of(
        "template",
        status,
        whyTemplate(index === 0 ? { ...template, status } : { ...version, status }, facts),
      ),
    ),
    ...hostStatuses.map((status) =>
      of("host", status, whyHost({ ...host, status }, { ...facts, hosts: [host], leaving: [] })),
    ),
    ...moveStatuses.map((status) =>
      of(
        "move",
        status,
        whyMove({ ...exampleOf(Move), status, reason }, { ...facts, from: facts.host, to: facts.host }),
      ),
    ),
  ];
});

test.each(answers)("%s: whole sentences, and nothing that is not known", (_name, { text, leads }) => {
  expect(text).toMatch(/^[A-Z].*[.]$/s);
  expect(text).not.toMatch(/undefined|null|NaN|\.\.|  | [.,;]/);
  for (const { label, to } of leads)
    expect([label, to]).toEqual([expect.stringMatching(/\S/), expect.stringMatching(/^\/[a-z]/)]);
});

test("a paused sandbox says what paused it, and that a call resumes it", () => {
  const paused = { ...exampleOf(VmEvent), last_at: at(300) };
  const { text } = whySandbox(
    { ...sandbox, mode: "persistent", status: "paused" },
    { ...nothing, events: [paused] },
  );
  expect(text).toBe("It was paused, 5 min ago: nothing had used it for 10m. The next call to it resumes it.");
});

test("what a person asked for is theirs", () => {
  const facts = { ...nothing, act: { ...act, at: at(60) } };
  const destroyed = {
    ...sandbox,
    status: "destroyed",
    reason: "destroyed by request",
    destroyed_at: at(60),
  } as const;
  expect(whySandbox(destroyed, facts).text).toContain("Destroyed by request by you 1 min ago.");
  expect(whySandbox(destroyed, { ...facts, userId: "usr_other" }).text).toContain("by user usr_");
});

test("a sandbox that is long in the making names what takes long, or the host that is away", () => {
  const creating = { ...sandbox, status: "creating" } as const;
  expect(whySandbox(creating, nothing).text).toContain("The first one of a template and a size takes longer");
  expect(whySandbox({ ...creating, created_at: at(2) }, nothing).text).not.toContain("takes longer");
  const away = whySandbox(creating, { ...nothing, host: offline });
  expect(away.text).toContain("Its host rack-1 is offline: it was last heard of 1 min 35 s ago.");
  expect(away.leads).toContainEqual({ label: "Host rack-1", to: "/hosts" });
});

test("a machine that has ended tells how, how often it was tried, and what comes next", () => {
  const end = { ...exampleOf(MachineEnd), ended_at: at(20) };
  const failed = { ...machine, status: "failed", restarts: 10, exit_code: 137 } as const;
  expect(whyMachine(failed, { ...nothing, ends: [{ ...end, out_of_memory: true }] }).text).toMatch(
    /want of memory: a larger size has more\. Before that it was started again 10 times\. Nothing starts it again/,
  );
  const waiting = whyMachine({ ...failed, restart_at: at(-4) }, { ...nothing, ends: [end] });
  expect(waiting.text).toContain("exited with 137: it was killed, by SIGKILL.");
  expect(waiting.text).toContain("starts it again in 4 s.");
  expect(waiting.leads).toContainEqual({ label: "Restarts", to: `/machines/${machine.id}/restarts` });
  const full = {
    ...failed,
    restart_at: at(-4),
    reason: "it ended; its next start waits: No host has 256 MiB free.",
  };
  expect(whyMachine(full, nothing).text).toContain("That waits: No host has 256 MiB free.");
});

test("a drain that waits for room names the host that has most", () => {
  const waits_for = `${sandbox.id} (8192 MiB, 4 vCPUs) has nowhere to go: no other host has as much room`;
  const draining: Host = {
    ...host,
    status: "draining",
    desired: "drained",
    waits_for,
    used: { ...host.used, vms: 4 },
  };
  const other = (name: string, memory_mib: number): Host => ({
    ...host,
    ...{ id: `hst_${name}`, name, capacity: { cpus: 4, vcpus: 64, memory_mib } },
  });
  const hosts = [
    draining,
    other("rack-2", 4_096),
    other("rack-3", 2_048),
    { ...other("rack-4", 9_999), desired: "drained" } as const,
  ];
  const facts: HostFacts = { ...common, hosts, leaving: [exampleOf(Move)], act: { ...act, at: at(70) } };
  const { text, leads } = whyHost(draining, facts);
  expect(text).toContain("by you 1 min 10 s ago: 4 guests are left, 1 on their way.");
  expect(text).toContain("Most room is on rack-2: 3.3 GiB and 61 vCPUs are free.");
  expect(leads[0]).toEqual({ label: "What it waits for", to: `/sandboxes/${sandbox.id}` });
  expect(whyHost(draining, { ...facts, hosts: [draining] }).text).toContain(
    "No other host takes anything now.",
  );
});

test("a service is late alone, or with all others", () => {
  const late = { ...service, due_at: at(300) };
  expect(serviceCondition(late, nowMs)).toBe("late");
  expect(serviceCondition({ ...late, status: "running" }, nowMs)).toBe("running");
  expect(whyService(late, { ...common, services: [late] }).text).toContain("it is this one that is held up");
  const other = { ...late, name: "mover" };
  expect(whyService(late, { ...common, services: [late, other] }).text).toContain("So is 1 other");
});

test.each([
  ["failed", { outcome: "failure" }, "broke off"],
  ["incomplete", { failed: 2, examined: 9 }, "nothing about 2 of 9"],
  ["waiting", {}, "All is well"],
] as const)("a service that is %s says so", (condition, run, text) => {
  const last_run = {
    ...service.last_run,
    ended_at: at(9),
    duration_ms: 4,
    examined: 0,
    changed: 0,
    failed: 0,
    outcome: "success",
    ...run,
  } as const;
  const one: BackgroundService = { ...service, due_at: at(-5), last_run };
  expect(serviceCondition(one, nowMs)).toBe(condition);
  expect(whyService(one, { ...common, services: [one] }).text).toContain(text);
});

test("a service that never ran says so", () => {
  const one: BackgroundService = { ...service, due_at: null, last_run: null };
  expect(whyService(one, { ...common, services: [one] }).text).toContain("has not run yet");
});

test("a build that failed names its step, and leads to what that printed", () => {
  const { text, leads } = whyBuild({ ...ended, status: "failed" }, common);
  expect(text).toBe(
    "The step exited with 1. It was step 1 of 1, 10 s ago: RUN apt-get update && apt-get install -y nginx.",
  );
  expect(leads).toEqual([{ label: "The log of step 1", to: `/builds/${build.id}?step=1` }]);
});
