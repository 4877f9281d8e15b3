// What the API itself takes: many clients at once, asked by wrk (Debian package `wrk`), which is a process of its own and needs far
// less of the two CPUs than a generator in JavaScript.

import { copiedSandboxes } from "./copied-sandboxes.ts";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { psql } from "../tests/support/organizations.ts";
import type { Platform } from "../tests/support/platform.ts";
import type { Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { range } from "./series.ts";

const CONNECTIONS = 50;
const RUN_S = 3;
/** Clones of the one row in the list; with it there are 10,000. */
const MANY = 9_999;
const PATHS = 500;
const PAGE_SAMPLES = 200;

export async function measureHttp({ platform, scale }: Bench): Promise<Measure[]> {
  const runs = scale.requestRuns;
  const { id } = await platform.client.sandboxes.create({ template: "base" });
  await platform.client.sandboxes.destroy(id);
  const ids = Array.from({ length: MANY }, (_, n) => `sbx_${String(n).padStart(26, "0")}`);
  try {
    await psql(platform, cloneRow(id));
    const paths = ids.slice(0, PATHS).map((clone) => `/v1/sandboxes/${clone}`);
    return [
      ...(await load(platform, { what: "`GET /v1/health`", paths: ["/v1/health"], bar: 15_000, runs })),
      ...(await load(platform, { what: "`GET /v1/sandboxes/{id}` with a token", paths, bar: 4_000, runs })),
      ...(await measurePages(platform, ids[PAGE_ITEMS] ?? "")),
    ];
  } finally {
    await psql(platform, `delete from sandboxes where execution_id = '${CLONED}'`);
  }
}

interface Run {
  readonly requests: number;
  readonly duration_us: number;
  readonly p99_us: number;
  readonly failed: number;
}

interface Load {
  readonly what: string;
  readonly paths: readonly string[];
  readonly bar: number;
  readonly runs: number;
}

async function load(platform: Platform, { what, paths, bar, runs: wanted }: Load): Promise<Measure[]> {
  const runs: Run[] = [];
  for (const _ of range(wanted)) runs.push(await wrk(platform, paths));
  return [
    {
      what: `${what}, ${CONNECTIONS} connections`,
      unit: "/s",
      samples: runs.map((run) => run.requests / (run.duration_us / 1_000_000)),
      bar: `≥ ${bar}`,
    },
    {
      what: "… 99 of 100 answers within",
      unit: "ms",
      samples: runs.map((run) => run.p99_us / 1_000),
      bar: "≤ 25",
    },
  ];
}

async function wrk(platform: Platform, paths: readonly string[]): Promise<Run> {
  const script = join(import.meta.dirname, "http.lua");
  const { stdout } = await promisify(execFile)("wrk", [
    ...["--threads", "1", "--connections", String(CONNECTIONS), "--duration", `${RUN_S}s`],
    ...["--script", script, platform.apiUrl, "--", platform.token, ...paths],
  ]).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENOENT" ? new Error("measureHttp needs wrk: apt-get install wrk") : error;
  });
  const run = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Run;
  if (run.failed > 0) throw new Error(`${run.failed} of ${run.requests} requests failed`);
  return run;
}

const PAGE_ITEMS = 50;

/** Pages are read in turn, so that other load of the machine meets both. */
async function measurePages(platform: Platform, lastCursorId: string): Promise<Measure[]> {
  const cursor = Buffer.from(lastCursorId).toString("base64url");
  const first: number[] = [];
  const last: number[] = [];
  for (let round = 0; round < PAGE_SAMPLES; round += 1) {
    await timedPage(first, () => platform.client.sandboxes.page({ limit: PAGE_ITEMS }));
    await timedPage(last, () => platform.client.sandboxes.page({ limit: PAGE_ITEMS, cursor }));
  }
  return [
    { what: "first page of a list of 10,000 sandboxes", unit: "ms", samples: first, bar: "–" },
    {
      what: "last page of the same list",
      unit: "ms",
      samples: last,
      bar: "median ≤ 1.1 × first page of a list of 10,000 sandboxes",
    },
  ];
}

async function timedPage(
  into: number[],
  read: () => Promise<{ readonly items: readonly unknown[] }>,
): Promise<void> {
  const startedMs = performance.now();
  const { items } = await read();
  into.push(performance.now() - startedMs);
  if (items.length !== PAGE_ITEMS) throw new Error(`a page has ${items.length} items`);
}

const CLONED = "bench";

/** Destroyed sandboxes, which no background service looks at; their ids are older than all others. */
function cloneRow(id: string): string {
  return `
    ${copiedSandboxes(
      id,
      `jsonb_build_object('id', 'sbx_' || lpad(n::text, 26, '0'), 'execution_id', '${CLONED}')`,
      `generate_series(0, ${MANY - 1})`,
    )}
    analyze vms;`;
}
