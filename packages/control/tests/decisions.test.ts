import fc from "fast-check";
import { expect, test } from "vitest";
import type { Vm } from "@skerry/contract/host-api/vm";
import { sizes } from "@skerry/contract/sizes";
import { sandboxReconcileActions } from "../src/sandboxes/sandbox-reconcile.ts";
import { fits, place, type PlaceableHost } from "@skerry/contract/hosts/placement";
import type { SandboxFact } from "../src/sandboxes/sandbox-facts.ts";

const VCPUS_PER_CPU = 16;

const hosts = fc.uniqueArray(
  fc
    .record({
      id: fc.string({ minLength: 1 }),
      cpus: fc.integer({ min: 1, max: 64 }),
      memory_mib: fc.integer({ min: 0, max: 65_536 }),
      usedShare: fc.double({ min: 0, max: 1, noNaN: true }),
      used_vcpus: fc.integer({ min: 0, max: 2_000 }),
    })
    .map(({ usedShare, ...host }): PlaceableHost => ({
      ...host,
      used_memory_mib: Math.floor(host.memory_mib * usedShare),
    })),
  { selector: (host) => host.id, maxLength: 8 },
);

test("a placement never promises memory twice, and finds a host whenever there is one", () => {
  fc.assert(
    fc.property(hosts, fc.constantFrom(...sizes), (all, size) => {
      const placement = place(all, size, VCPUS_PER_CPU);
      const possible = all.filter((host) => fits(host, size, VCPUS_PER_CPU)).map((host) => host.id);
      if (placement.kind === "candidates") {
        expect(placement.hostIds.toSorted()).toEqual(possible.toSorted());
        for (const host of all.filter(({ id }) => placement.hostIds.includes(id))) {
          expect(host.used_memory_mib + size.memory_mib).toBeLessThanOrEqual(host.memory_mib);
        }
      } else {
        expect(possible).toEqual([]);
      }
      if (placement.kind === "too_large") {
        for (const host of all)
          expect(fits({ ...host, used_memory_mib: 0, used_vcpus: 0 }, size, VCPUS_PER_CPU)).toBe(false);
      }
    }),
  );
});

test("a placement does not depend on the order of the hosts", () => {
  fc.assert(
    fc.property(hosts, fc.constantFrom(...sizes), (all, size) => {
      expect(place(all.toReversed(), size, VCPUS_PER_CPU)).toEqual(place(all, size, VCPUS_PER_CPU));
    }),
  );
});

test("VMs are spread: the next goes where most is left of what is shortest there", () => {
  const [size] = sizes;
  if (size === undefined) throw new Error("there are no sizes");
  const host = (id: string, extra: Partial<PlaceableHost>): PlaceableHost => ({
    ...{ id, cpus: 4, memory_mib: 8_192, used_memory_mib: 0, used_vcpus: 0 },
    ...extra,
  });
  const all = [
    host("full of memory", { used_memory_mib: 8_192 }),
    host("short of memory", { used_memory_mib: 6_144 }),
    host("short of CPUs", { used_vcpus: 60 }),
    host("empty", {}),
  ];
  expect(place(all, size, VCPUS_PER_CPU)).toEqual({
    kind: "candidates",
    hostIds: ["empty", "short of memory", "short of CPUs"],
  });
  const full = all.slice(0, 1).concat(host("full of CPUs", { used_vcpus: 64 }));
  expect(place(full, size, VCPUS_PER_CPU)).toEqual({ kind: "full", lackMemory: 1, lackCpus: 1 });
});

const row = (extra: Partial<SandboxFact>): SandboxFact => ({
  id: "a",
  status: "running",
  version: 1,
  execution_id: "1",
  host_id: "h",
  reboots: false,
  attempts: 0,
  rollback: null,
  claimed: false,
  egress_due: false,
  waiting: false,
  lost: false,
  was_paused: false,
  due_in_ms: null,
  ...extra,
});
const vm = (extra: Partial<Vm>): Vm => ({
  id: "a",
  execution_id: "1",
  template: "base",
  size: "s",
  status: "running",
  reason: null,
  started_at: "2026-01-01T00:00:00.000Z",
  ...extra,
});
type Facts = readonly SandboxFact[];
const actions = (before: Facts, vms: readonly Vm[], after: Facts) =>
  sandboxReconcileActions("h", before, vms, after);
const kinds = (...given: Parameters<typeof actions>) => actions(...given).map((action) => action.kind);

test("a sandbox that began to run while the host was read is not missing", () => {
  expect(kinds([], [], [row({})])).toEqual([]);
  expect(kinds([row({})], [], [row({})])).toEqual(["fail"]);
});

test("a microVM whose row was written while the host was read is not superfluous", () => {
  expect(kinds([], [vm({ status: "creating" })], [row({ status: "creating", claimed: true })])).toEqual([]);
  expect(kinds([], [vm({})], [])).toEqual(["discard"]);
});

test("a microVM that starts belongs to its row, one of an older life to nobody", () => {
  const creating = row({ status: "creating", claimed: true, execution_id: "2" });
  expect(kinds([creating], [vm({})], [creating])).toEqual(["discard"]);
  expect(kinds([creating], [vm({ execution_id: "2" })], [creating])).toEqual([]);
});

test("a microVM that came back with its host is taken back, one that has ended or is of another life is not", () => {
  const lost = row({ status: "failed", lost: true });
  expect(kinds([], [vm({})], [lost])).toEqual(["adopt"]);
  expect(kinds([], [vm({ status: "gone" })], [lost])).toEqual(["discard"]);
  expect(kinds([], [vm({ execution_id: "2" })], [lost])).toEqual(["discard"]);
  expect(kinds([], [vm({})], [row({ status: "failed" })])).toEqual(["discard"]);
});

test("an ended microVM fails its row even where the host does not say why", () => {
  const failing = actions([row({})], [vm({ status: "gone" })], [row({})]);
  expect(failing).toMatchObject([{ kind: "fail", reason: "the microVM ended: its host does not know why" }]);
});

test("a policy that the host has not confirmed is brought to a running microVM only, and not before it is due", () => {
  const due = row({ egress_due: true });
  expect(kinds([due], [vm({})], [due])).toEqual(["egress"]);
  expect(kinds([row({ egress_due: true, waiting: true })], [vm({})], [due])).toEqual([]);
  expect(kinds([due], [vm({ status: "gone" })], [due])).toEqual(["fail"]);
  const creating = row({ egress_due: true, status: "creating", claimed: true });
  expect(kinds([creating], [vm({ status: "creating" })], [creating])).toEqual([]);
});

test("a later life is a row's own where it was paused, and on its own host alone", () => {
  const paused = row({ status: "paused", was_paused: true });
  const resumed = vm({ execution_id: "2" });
  expect(kinds([paused], [resumed], [paused])).toEqual(["adopt"]);
  expect(kinds([paused], [vm({ execution_id: "0" })], [paused])).toEqual(["fail", "discard"]);
  const elsewhere = { ...paused, host_id: "another" };
  expect(kinds([], [resumed], [elsewhere])).toEqual(["discard"]);
  expect(kinds([row({})], [resumed], [row({})])).toEqual(["fail", "discard"]);
});

test("what a replica is at work on is left to it, and what its host is at work on to the host", () => {
  for (const status of ["pausing", "resuming"] as const) {
    const held = row({ status, claimed: true, was_paused: status === "resuming" });
    for (const at of [vm({}), vm({ status: "paused" }), vm({ status: "creating", execution_id: "2" })]) {
      if (status === "pausing" && at.execution_id === "2") continue;
      expect(kinds([held], [at], [held])).toEqual([]);
    }
  }
  const left = row({ status: "resuming", was_paused: true });
  expect(kinds([left], [vm({ status: "creating", execution_id: "2" })], [left])).toEqual([]);
});

test("a paused VM without a row stays, one that runs does not", () => {
  expect(kinds([], [vm({ status: "paused" })], [])).toEqual([]);
  expect(kinds([], [vm({})], [])).toEqual(["discard"]);
});
