import { expect, test } from "vitest";
import {
  canSandboxTransition,
  sandboxStatuses,
  sandboxStatusesOnHost,
  sandboxTransitions,
  type SandboxStatus,
} from "@skerry/contract/sandboxes/sandbox-status";

const after = (status: SandboxStatus): readonly SandboxStatus[] => sandboxTransitions[status];

test("a sandbox can be destroyed from every status, in at most two steps", () => {
  for (const status of sandboxStatuses) {
    if (status === "destroyed") continue;
    const ways = status === "destroying" ? [status] : after(status);
    expect(ways).toContain("destroying");
  }
  expect(after("destroying")).toEqual(["destroyed"]);
});

test("every status can fail until its destruction has begun", () => {
  const mayFail = sandboxStatuses.filter((status) => canSandboxTransition(status, "failed"));
  expect(mayFail).toEqual(["creating", "running", "pausing", "paused", "resuming", "unreachable"]);
});

test("every transition leads to a status that exists and is another one", () => {
  for (const status of sandboxStatuses) {
    for (const next of after(status)) {
      expect(sandboxStatuses).toContain(next);
      expect(next).not.toBe(status);
    }
  }
});

test("nothing comes back from destroyed, and what has failed runs again only where its host comes back with it", () => {
  expect(after("destroyed")).toEqual([]);
  expect(after("destroying")).toEqual(["destroyed"]);
  expect(after("failed")).toEqual(["running", "destroying"]);
});

test("what is paused holds no memory, and what is on its way to or from there does", () => {
  const onHost: readonly SandboxStatus[] = sandboxStatusesOnHost;
  expect(onHost).not.toContain("paused");
  expect(onHost).toEqual(expect.arrayContaining(["pausing", "resuming"]));
});

test("only known statuses are counted as holding memory of a host", () => {
  expect(sandboxStatuses).toEqual(expect.arrayContaining([...sandboxStatusesOnHost]));
  expect(sandboxStatusesOnHost).not.toContain("destroyed");
});
