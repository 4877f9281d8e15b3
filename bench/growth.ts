// Does creating a sandbox get slower with those that there have been? Rows are put into the database: half of them destroyed, half running
// on a host that is offline, so that no background service has work with them.
//
// What is measured is one create while nothing else happens: the pool has made its clones and rests, and PostgreSQL has cleaned up after the
// change of the table. The first create after a change is not counted: it plans its statements anew and sums up what the rows hold. Passes go
// up and down in turns, so that what gets faster or slower in the course of a run does so for all levels alike.

import { copiedSandboxes } from "./copied-sandboxes.ts";
import { psql } from "../tests/support/organizations.ts";
import type { Platform } from "../tests/support/platform.ts";
import { create, type Bench } from "./bench.ts";
import { poolAtRest } from "./pool.ts";
import type { Measure } from "./results.ts";
import { attempt, range, Series } from "./series.ts";

/** Creates that are not counted, before the first: a control that has just been started answers its first requests more slowly. */
const WARM_UP = 15;
const LEVELS = [10, 100, 1_000, 10_000] as const;
const AXIS = "sandboxes in the database";
/** Marks the rows that are ours. */
export const EXECUTION = "bench";
export const ELSEWHERE = "hst_bench";

export async function measureGrowth({ platform, scale }: Bench): Promise<Measure[]> {
  const levels = LEVELS.map((rows) => ({
    rows,
    series: new Series({
      what: whatAt(rows),
      unit: "ms",
      bar: rows === LEVELS[0] ? "–" : `median ≤ 1.2 × ${whatAt(LEVELS[0])}`,
      axis: AXIS,
      line: "create answered, pool warm",
    }),
  }));
  const { id } = await create(platform).then(async (sandbox) => {
    await sandbox.destroy();
    return sandbox.info;
  });
  try {
    await psql(platform, prepare(id));
    for (const _ of range(WARM_UP)) await createUncounted(platform);
    for (const pass of range(scale.growth.passes)) {
      for (const { rows, series } of pass % 2 === 0 ? levels : levels.toReversed()) {
        await setRows(platform, id, rows);
        for (const _round of range(scale.growth.rounds))
          await attempt([series], () => createOnce(platform, { series, rows }));
      }
    }
  } finally {
    await psql(platform, `${remove(id, 0)} delete from hosts where id = '${ELSEWHERE}';`);
  }
  return levels.map(({ series }) => series.measure);
}

function whatAt(rows: number): string {
  return `create with ${rows.toLocaleString("en-US")} sandboxes in the database`;
}

/** As many of our rows, none of the sandboxes that were measured before, and a database that has nothing more to do about it. */
async function setRows(platform: Platform, id: string, rows: number): Promise<void> {
  await psql(platform, `${remove(id, rows)} ${fill(id, rows)}`);
  await psql(platform, "vacuum (analyze) sandboxes, capacity_entries");
  await psql(platform, "checkpoint");
  await createUncounted(platform);
}

async function createUncounted(platform: Platform): Promise<void> {
  await poolAtRest(platform);
  const sandbox = await create(platform);
  await sandbox.destroy();
}

async function createOnce(
  platform: Platform,
  { series, rows }: { series: Series; rows: number },
): Promise<void> {
  await poolAtRest(platform);
  const sandbox = await series.time(() => create(platform), rows);
  await sandbox?.destroy();
}

/** A host that control cannot reach, and whose sandboxes control does not take for lost. The row of the sandbox that is copied has to be there before. */
export function prepare(id: string): string {
  return `
    insert into hosts
    select (jsonb_populate_record(h, jsonb_build_object(
      'id', '${ELSEWHERE}', 'name', 'bench-elsewhere', 'address', 'unix:/run/skerry-bench/nobody.sock',
      'status', 'maintenance', 'desired', 'drained', 'key_sha256', null))).*
    from hosts h join sandboxes s on s.host_id = h.id where s.id = '${id}';`;
}

/** Leaves the one row, and so many of ours. */
function remove(id: string, rows: number): string {
  return `
    delete from sandboxes where id <> '${id}' and (
      execution_id = '${EXECUTION}' and id >= 'sbx_' || lpad('${rows}', 26, '0') or
      execution_id <> '${EXECUTION}' and status = 'destroyed');`;
}

/** Tops up to so many; their ids are older than all others. */
function fill(id: string, rows: number): string {
  return copiedSandboxes(
    id,
    `jsonb_build_object('id', 'sbx_' || lpad(n::text, 26, '0'), 'execution_id', '${EXECUTION}') ||
      case when n % 2 = 0 then '{}'::jsonb else jsonb_build_object(
        'host_id', '${ELSEWHERE}', 'status', 'running', 'destroyed_at', null,
        'expires_at', now() + interval '1 day') end`,
    `generate_series((select count(*) from sandboxes where execution_id = '${EXECUTION}'), ${rows} - 1)`,
  );
}
