// The rules of apps: from any rows and any states of machines an app comes to what its release and its scale
// want, and serves all the way.

import fc from "fast-check";
import { expect, test } from "vitest";
import { appActions } from "../src/apps/reconcile-app.ts";
import type { AppFact, InstanceFact } from "../src/apps/reconcile-facts.ts";
import { app, deploying, instance, manifest } from "./support/app-facts.ts";

/** A machine that does what it is told: it runs after one turn, is well after another, and drains in one. */
class Simulated {
  all: InstanceFact[] = [];
  #made = 0;
  /**
   * Instances that serve of the wanted release or another one, at the worst moment since the first served.
   */
  worst = Infinity;

  constructor(all: readonly InstanceFact[]) {
    this.all = [...all];
  }

  carryOut(fact: AppFact): AppFact {
    let next = fact;
    for (const action of appActions(fact, this.all)) {
      if (action.kind === "start")
        this.all.push(
          instance({
            ...{
              machine_id: `new_${(this.#made += 1)}`,
              release: fact.wanted?.number ?? 0,
              state: "starting",
            },
            ...{ group_name: action.group, number: action.number, isRunning: false, isReady: false },
          }),
        );
      else if (action.kind === "proceed") next = this.#proceeded(next, action.to);
      else if (action.kind === "fail") next = { ...next, deploy: undefined, wanted: app().wanted };
      else if (action.kind !== "rollBack") this.#change(action.kind, action.instance);
    }
    this.all = this.all.map((one) => ({
      ...one,
      ...(one.isStopping
        ? { end: { message: "stopped", exitCode: 0 } }
        : {
            servedMs: one.state === "serving" ? one.servedMs + 60_000 : 0,
            isReady: one.isRunning,
            isRunning: true,
            isDrained: one.state === "draining",
          }),
    }));
    const serving = this.all.filter(
      ({ state, group_name }) => state === "serving" && group_name === "web",
    ).length;
    if (serving > 0 || this.worst < Infinity) this.worst = Math.min(this.worst, serving);
    return next;
  }

  #change(kind: "serve" | "drain" | "stop" | "destroy" | "replace", { machine_id }: InstanceFact): void {
    const state = kind === "serve" ? "serving" : "draining";
    this.all = this.all.flatMap((one) => {
      if (one.machine_id !== machine_id) return [one];
      if (kind === "stop") return [{ ...one, isRunning: false, isStopping: true }];
      return kind === "destroy" || kind === "replace" ? [] : [{ ...one, state }];
    });
  }

  #proceeded(fact: AppFact, to: NonNullable<AppFact["deploy"]>["status"]): AppFact {
    if (fact.deploy === undefined) return fact;
    return { ...fact, deploy: to === "live" ? undefined : { ...fact.deploy, status: to } };
  }
}

test("a rolling deploy starts one more, lets it serve when it is well, and only then drains one of those before", () => {
  const old = instance({ machine_id: "old" });
  const fresh = instance({ machine_id: "new", release: 2, number: 2, state: "starting", isReady: false });
  const fact = app(deploying(2));
  expect(appActions(fact, [old])).toEqual([{ kind: "start", group: "web", number: 2 }]);
  expect(appActions(fact, [old, { ...fresh, isRunning: false }])).toEqual([]);
  expect(appActions(fact, [old, fresh])).toEqual([{ kind: "proceed", to: "checking" }]);
  expect(appActions(fact, [old, { ...fresh, isReady: true }])[0]).toMatchObject({ kind: "serve" });
  const served = { ...fresh, isReady: true, state: "serving" } as const;
  expect(appActions(fact, [old, served])).toEqual([
    { kind: "drain", instance: old },
    { kind: "proceed", to: "draining" },
  ]);
  expect(appActions(fact, [{ ...old, state: "draining", isDrained: true }, served])[0]?.kind).toBe("stop");
  expect(appActions(app(deploying(2, "switching")), [served])).toEqual([{ kind: "proceed", to: "live" }]);
});

test("a bluegreen deploy serves all at once, when all are well", () => {
  const olds = [1, 2].map((number) => instance({ machine_id: `old_${number}`, number }));
  const fact = app({
    ...deploying(2),
    scale: { web: 2, worker: 0 },
    wanted: { number: 2, manifest: manifest("bluegreen") },
  });
  expect(appActions(fact, olds).map(({ kind }) => kind)).toEqual(["start", "start"]);
  const fresh = [3, 4].map((number) =>
    instance({ machine_id: `new_${number}`, release: 2, number, state: "starting" }),
  );
  const [one, other] = fresh as [InstanceFact, InstanceFact];
  expect(
    appActions(fact, [...olds, one, { ...other, isReady: false }]).map(({ kind }) => kind),
  ).not.toContain("serve");
  expect(appActions(fact, [...olds, one, other]).filter(({ kind }) => kind === "serve")).toHaveLength(2);
});

test("a deploy fails in the turn in which an instance of it has ended, with what it said", () => {
  const old = instance({ machine_id: "old" });
  const ended = instance({
    ...{ machine_id: "new", release: 2, state: "starting", isRunning: false, isReady: false },
    end: { message: "the main process exited with 3", exitCode: 3 },
  });
  expect(appActions(app(deploying(2)), [old, ended])).toEqual([
    expect.objectContaining({ kind: "fail", code: "instance_failed", instance: ended }),
  ]);
  // Afterwards the release before is wanted again, and the instance is kept for its log.
  expect(appActions(app(), [old, { ...ended, state: "failed" }])).toEqual([]);
  expect(appActions(app(deploying(3)), [old, { ...ended, state: "failed" }])[0]).toMatchObject({
    kind: "destroy",
  });
});

test("a check that fails, and a timeout, fail a deploy; an instance that ends while it serves is replaced", () => {
  const failing = instance({ machine_id: "new", release: 2, state: "starting", failure: "HTTP 500" });
  expect(appActions(app(deploying(2)), [failing])[0]).toMatchObject({
    kind: "fail",
    code: "instance_failed",
  });
  const late = { ...deploying(2), deploy: { status: "starting", release: 2, isOverdue: true } } as const;
  expect(appActions(app(late), [])[0]).toMatchObject({ kind: "fail", code: "deploy_timed_out" });
  const ended = instance({ machine_id: "old", end: { message: "it ended", exitCode: 0 } });
  expect(appActions(app(), [ended]).map(({ kind }) => kind)).toEqual(["replace", "start"]);
  expect(appActions(app({ mayStart: false }), [ended]).map(({ kind }) => kind)).toEqual(["replace"]);
});

test("while a host does not serve what it was told, what serves now goes on, and a deploy is not live", () => {
  const old = instance({ machine_id: "old" });
  const fresh = instance({ machine_id: "new", release: 2, number: 2 });
  const fact = app({ ...deploying(2, "switching"), edgeFault: "no proxy" });
  expect(appActions(fact, [old, fresh])).toEqual([]);
  expect(appActions({ ...fact, edgeFault: undefined }, [old, fresh])[0]).toMatchObject({ kind: "drain" });
  const late = { ...fact, deploy: { status: "switching", release: 2, isOverdue: true } } as const;
  const [fault] = appActions(late, [old, fresh]);
  expect(fault).toMatchObject({ kind: "fail", message: expect.stringContaining("no proxy") as string });
});

test("an instance that has drained is told to end, and its machine is destroyed when it has", () => {
  const one = instance({ machine_id: "one", state: "draining", isDrained: true });
  const gone = app({ scale: { web: 0, worker: 0 } });
  expect(appActions(gone, [one])).toEqual([{ kind: "stop", instance: one }]);
  const stopping = { ...one, isRunning: false, isStopping: true };
  expect(appActions(gone, [stopping])).toEqual([]);
  const ended = { ...stopping, end: { message: "stopped by request", exitCode: 0 } };
  expect(appActions(gone, [ended])).toEqual([{ kind: "destroy", instance: ended }]);
});

test("a live release goes back while it is watched, where an instance of it fails, and not where one is told to end", () => {
  const ended = { message: "it exited with 1", exitCode: 1 };
  const watched = app({ isWatched: true, scale: { web: 2, worker: 0 } });
  const [well, failed] = [
    instance({ machine_id: "well" }),
    instance({ machine_id: "bad", number: 2, end: ended }),
  ];
  expect(appActions(watched, [well, failed])).toMatchObject([{ kind: "rollBack", instance: failed }]);
  const failing = { ...failed, end: undefined, failure: "HTTP 500" };
  expect(appActions(watched, [well, failing])).toMatchObject([{ kind: "rollBack" }]);
  const others = [
    { ...failed, release: 9 },
    { ...failed, isLost: true },
    { ...failed, state: "draining" as const },
  ];
  for (const facts of [app(), { ...watched, isDeleting: true }, { ...watched, ...deploying(1) }])
    expect(appActions(facts, [well, failing]).map(({ kind }) => kind)).not.toContain("rollBack");
  expect(appActions(watched, [well, ...others]).map(({ kind }) => kind)).not.toContain("rollBack");
});

test("an app that is deleted drains all that it has", () => {
  const one = instance({ machine_id: "one" });
  expect(appActions(app({ isDeleting: true }), [one])).toEqual([{ kind: "drain", instance: one }]);
});

const anyInstance = fc.record({
  release: fc.integer({ min: 1, max: 3 }),
  group_name: fc.constantFrom("web", "worker", "gone"),
  state: fc.constantFrom("starting" as const, "serving" as const, "draining" as const),
  isRunning: fc.boolean(),
});

test("from any instances, with any scale and strategy, an app comes to what is wanted, and never serves less than it did or should", () => {
  fc.assert(
    fc.property(
      fc.array(anyInstance, { maxLength: 12 }),
      fc.integer({ min: 0, max: 5 }),
      fc.constantFrom("rolling", "bluegreen", "canary", "immediate"),
      fc.boolean(),
      (some, web, strategy, isDeploy) => {
        const all = some.map((one, at) =>
          instance({
            ...one,
            machine_id: `old_${at}`,
            number: at + 1,
            isReady: one.isRunning && one.state === "serving",
          }),
        );
        const simulated = new Simulated(all);
        const served = all.filter(
          ({ state, group_name }) => state === "serving" && group_name === "web",
        ).length;
        let fact = app({
          scale: { web, worker: 1 },
          wanted: { number: 2, manifest: manifest(strategy) },
          ...(isDeploy && { deploy: { status: "queued", release: 2, isOverdue: false } }),
        });
        for (let turn = 0; turn < 60; turn += 1) fact = simulated.carryOut(fact);
        expect(fact.deploy).toBeUndefined();
        const count = (group: string) =>
          simulated.all.filter(
            (one) => one.group_name === group && one.release === 2 && one.state === "serving",
          ).length;
        expect([count("web"), count("worker"), simulated.all.length]).toEqual([web, 1, web + 1]);
        expect(simulated.worst).toBeGreaterThanOrEqual(Math.min(served, web));
      },
    ),
  );
});

test("instances on a host that is drained are replaced one at a time, by others that serve first", () => {
  const [one, other] = [1, 2].map((number) =>
    instance({ machine_id: `web_${number}`, number, isLeaving: true }),
  );
  if (one === undefined || other === undefined) throw new Error("there is no instance");
  const fact = app({ scale: { web: 2, worker: 0 } });
  expect(appActions(fact, [one, other])).toEqual([{ kind: "start", group: "web", number: 3 }]);
  const third = instance({ machine_id: "web_3", number: 3 });
  expect(appActions(fact, [one, other, { ...third, state: "starting", isReady: false }])).toEqual([]);
  expect(appActions(fact, [one, other, third])).toEqual([{ kind: "drain", instance: one }]);
  const drained = { ...one, state: "draining" as const };
  expect(appActions(fact, [drained, other, third])).toEqual([{ kind: "start", group: "web", number: 4 }]);
});
