// How soon a change is told, and what it costs creations that it can be told: with the trigger that orders changes and the index by which they
// are found, and in turns without both. Turns go there and back, so that what gets slower in the course of a run does so for both.

import { setTimeout as sleep } from "node:timers/promises";
import type { FollowedChange } from "../packages/sdk/src/skerry.ts";
import { psql } from "../tests/support/organizations.ts";
import type { Platform } from "../tests/support/platform.ts";
import { create, type Bench } from "./bench.ts";
import { poolAtRest } from "./pool.ts";
import type { Measure } from "./results.ts";
import { attempt, range, Series } from "./series.ts";

const WITHOUT = "create answered, changes are not ordered";
/** Creations of one turn, after one that plans its statements anew and is not counted. */
const TURN = 5;
/** Readers are looked after every 250 ms; rounds begin at any moment of that. */
const PAUSE_MAX_MS = 500;
const TOLD_WITHIN_MS = 20_000;

export async function measureEvents(bench: Bench): Promise<Measure[]> {
  return [await measureDelay(bench), ...(await measureCost(bench))];
}

async function measureDelay({ platform, scale }: Bench): Promise<Measure> {
  const told = new Series({
    what: "a change is asked for → its event at a reader",
    unit: "ms",
    bar: "median ≤ 500",
  });
  const sandbox = await create(platform);
  const end = new AbortController();
  const changes = platform.client.events({ kinds: ["sandbox"] }, { signal: end.signal });
  try {
    await nextOf(changes, ({ type }) => type === "synced");
    for (const _ of range(scale.events.changes)) {
      await sleep(Math.random() * PAUSE_MAX_MS);
      await told.time(async () => {
        const event = nextOf(changes, (change) => change.type === "changed" && change.id === sandbox.id);
        await Promise.all([sandbox.keepalive("2h"), event]);
      });
    }
  } finally {
    end.abort();
    await sandbox.destroy();
  }
  return told.measure;
}

async function nextOf(
  changes: AsyncGenerator<FollowedChange, void>,
  isMeant: (change: FollowedChange) => boolean,
): Promise<void> {
  const late = AbortSignal.timeout(TOLD_WITHIN_MS);
  for (;;) {
    late.throwIfAborted();
    const { done, value } = await changes.next();
    if (done === true) throw new Error("the stream of events has ended");
    if (isMeant(value)) return;
  }
}

async function measureCost({ platform, scale }: Bench): Promise<Measure[]> {
  const ordered = new Series({
    what: "create answered, changes are ordered",
    unit: "ms",
    bar: `median ≤ 1.05 × ${WITHOUT}`,
  });
  const without = new Series({ what: WITHOUT, unit: "ms", bar: "–" });
  try {
    for (const turn of range(scale.events.turns)) {
      const pair = [
        { series: ordered, statements: ON },
        { series: without, statements: OFF },
      ];
      for (const { series, statements } of turn % 2 === 0 ? pair : pair.toReversed()) {
        for (const statement of statements) await psql(platform, statement);
        await createOnce(platform);
        for (const _ of range(TURN)) await attempt([series], () => createOnce(platform, series));
      }
    }
  } finally {
    for (const statement of ON) await psql(platform, statement);
  }
  return [ordered.measure, without.measure];
}

const OFF = ["alter table vms disable trigger vms_change_noted", "drop index if exists vms_by_change"];
const ON = [
  "alter table vms enable trigger vms_change_noted",
  "create index if not exists vms_by_change on vms (org_id, kind, changed_in, changed_seq)",
];

async function createOnce(platform: Platform, series?: Series): Promise<void> {
  await poolAtRest(platform);
  const sandbox = await (series === undefined ? create(platform) : series.time(() => create(platform)));
  await sandbox?.destroy();
}
