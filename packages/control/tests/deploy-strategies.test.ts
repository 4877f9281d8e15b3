// Deploys by their strategies, and instances and release commands that never ran. Pure.

import { expect, test } from "vitest";
import type { StoredManifest } from "../src/apps/app-tables.ts";
import { preparation } from "../src/apps/deploys/prepare-deploy.ts";
import { appActions } from "../src/apps/reconcile-app.ts";
import type { AppAction, AppFact, InstanceFact } from "../src/apps/reconcile-facts.ts";
import { app, deploying, instance, manifest } from "./support/app-facts.ts";

const strategic = (some: Partial<StoredManifest>): AppFact => ({
  ...app({ ...deploying(2), scale: { web: 5, worker: 0 } }),
  wanted: { number: 2, manifest: { ...manifest("rolling"), ...some } },
});
const five = [1, 2, 3, 4, 5].map((number) => instance({ machine_id: `web_${number}`, number }));
const fresh = (number: number, some: Partial<InstanceFact> = {}) =>
  instance({ machine_id: `new_${number}`, number, release: 2, ...some });
const kinds = (actions: readonly AppAction[]) => actions.map(({ kind }) => kind);

test("a canary serves beside all of the release before until its time is over, and then the rest follows", () => {
  const fact = strategic({ strategy: "canary", canary: { percent: 30, hold: "1m" } });
  expect(kinds(appActions(fact, five))).toEqual(["start", "start"]);
  const held = [fresh(6, { servedMs: 59_000 }), fresh(7, { servedMs: 2_000 })];
  expect(kinds(appActions(fact, [...five, ...held]))).toEqual(["proceed"]);
  const over = [fresh(6, { servedMs: 60_000 }), fresh(7, { servedMs: 3_000 })];
  expect(kinds(appActions(fact, [...five, ...over])).filter((kind) => kind === "drain")).toHaveLength(2);
});

test.each([{ failure: "it fails" }, { end: { message: "exited", exitCode: 1 } }] as const)(
  "a canary that fails while it serves fails its deploy: %j",
  (some) => {
    const fact = strategic({ strategy: "canary", canary: { percent: 30, hold: "1m" } });
    expect(appActions(fact, [...five, fresh(6, some)])).toMatchObject([
      { kind: "fail", code: "instance_failed" },
    ]);
  },
);

test("an immediate deploy starts all at once, and gives them requests before their checks have passed", () => {
  const fact = strategic({ strategy: "immediate" });
  expect(kinds(appActions(fact, five))).toEqual(["start", "start", "start", "start", "start"]);
  const running = [6, 7, 8, 9, 10].map((number) => fresh(number, { state: "starting", isReady: false }));
  expect(kinds(appActions(fact, [...five, ...running])).filter((kind) => kind === "serve")).toHaveLength(5);
});

test("an instance that never ran, because its maker died, is no fault of the release", () => {
  const fact = app(deploying(2));
  const never = { hasRun: false, end: { message: "its maker died", exitCode: null } };
  const actions = appActions(fact, [
    instance({ machine_id: "old" }),
    fresh(2, { state: "starting", ...never }),
  ]);
  expect(kinds(actions)).toContain("replace");
  expect(kinds(actions)).not.toContain("fail");
});

test("a release command that never ran is run, and one that did is not run again", () => {
  const job = instance({
    machine_id: "job",
    group_name: "release_command",
    end: { message: "gone", exitCode: null },
  });
  const fact = {
    status: "releasing",
    isOverdue: false,
    isBuilt: true,
    build: undefined,
    releaseCommand: "migrate",
  } as const;
  expect(preparation({ ...fact, job: { ...job, hasRun: false } })).toMatchObject([{ kind: "discard" }]);
  expect(preparation({ ...fact, job: undefined })).toEqual([{ kind: "runReleaseCommand" }]);
  expect(preparation({ ...fact, job })).toMatchObject([{ kind: "fail", code: "instance_failed" }]);
});

test("an instance that is added while a release is watched, and is slow to be well, is no reason to go back", () => {
  const fact = app({ isWatched: true, scale: { web: 2, worker: 0 } });
  const one = instance({ machine_id: "web_1" });
  const slow = instance({
    machine_id: "web_2",
    number: 2,
    state: "starting",
    isReady: false,
    failure: "no answer",
  });
  expect(kinds(appActions(fact, [one, slow]))).toEqual([]);
  expect(kinds(appActions(fact, [{ ...one, failure: "no answer" }, slow]))).toEqual(["rollBack"]);
});
