// Does creating a sandbox get slower with those that there have been? Rows are put into the database: half of them destroyed, half running
// on a host that is offline, so that no background service has work with them.

import { psql } from "../tests/support/organizations.ts";
import type { Platform } from "../tests/support/platform.ts";
import { create, type Bench } from "./bench.ts";
import { poolAtRest } from "./pool.ts";
import type { Measure } from "./report.ts";
import { attempt, range, Series } from "./series.ts";

const LEVELS = [10, 100, 1_000, 10_000] as const;
const AXIS = "sandboxes in the database";
/** Marks the rows that are ours. */
const EXECUTION = "bench";
const ELSEWHERE = "hst_bench";

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
    for (const _ of range(scale.growth.passes)) {
      await psql(platform, clear(id));
      for (const { rows, series } of levels) {
        await psql(platform, fill(id, rows));
        for (const _round of range(scale.growth.rounds))
          await attempt([series], () => createOnce(platform, { series, rows }));
      }
    }
  } finally {
    await psql(platform, `${clear(id)} delete from hosts where id = '${ELSEWHERE}';`);
  }
  return levels.map(({ series }) => series.measure);
}

function whatAt(rows: number): string {
  return `create with ${rows.toLocaleString("en-US")} sandboxes in the database`;
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
function prepare(id: string): string {
  return `
    insert into hosts
    select (jsonb_populate_record(h, jsonb_build_object(
      'id', '${ELSEWHERE}', 'name', 'bench-elsewhere', 'address', 'unix:/run/skerry-bench/nobody.sock',
      'status', 'maintenance', 'desired', 'drained', 'key_sha256', null))).*
    from hosts h join sandboxes s on s.host_id = h.id where s.id = '${id}';`;
}

/** Leaves nothing but the one row. */
function clear(id: string): string {
  return `delete from sandboxes where id <> '${id}' and (execution_id = '${EXECUTION}' or status = 'destroyed');`;
}

/** Tops up to so many; their ids are older than all others. */
function fill(id: string, rows: number): string {
  return `
    insert into sandboxes
    select (jsonb_populate_record(s, jsonb_build_object(
      'id', 'sbx_' || lpad(n::text, 26, '0'), 'execution_id', '${EXECUTION}') ||
      case when n % 2 = 0 then '{}'::jsonb else jsonb_build_object(
        'host_id', '${ELSEWHERE}', 'status', 'running', 'destroyed_at', null,
        'expires_at', now() + interval '1 day') end)).*
    from sandboxes s, generate_series(
      (select count(*) from sandboxes where execution_id = '${EXECUTION}'), ${rows} - 1) n
    where s.id = '${id}';
    analyze sandboxes;`;
}
