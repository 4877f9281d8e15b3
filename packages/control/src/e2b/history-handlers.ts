// What sandboxes have used, and what became of them, for E2B's clients.

import { Type } from "typebox";
import { bareId } from "@skerry/contract/ids";
import type { VmEvent } from "@skerry/contract/vms/events";
import type { VmMetricsPoint } from "@skerry/contract/vms/metrics";
import type { Caller } from "../caller.ts";
import { stateOf, type Context } from "../context.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { findSandboxes } from "../sandboxes/sandboxes.ts";
import { sandboxVms } from "../sandboxes/sandbox-vms.ts";
import { Denials } from "../vms/events/denials.ts";
import { listEvents } from "../vms/events/events.ts";
import { readMetrics } from "../vms/metrics/metrics.ts";
import { idOf } from "./api-request.ts";
import { checker } from "./checked-body.ts";
import type { E2bHandler } from "./e2b-routes.ts";
import { livePoint } from "./live-metric.ts";
import { sandboxIdIn } from "./sandbox-ids.ts";
import { livingSandbox } from "./sandbox-reads.ts";

const closed = { additionalProperties: false } as const;
const Seconds = Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000_000_000 }));
const readSpan = checker(Type.Object({ start: Seconds, end: Seconds }, closed), "querystring");
const readIds = checker(
  Type.Object({ sandbox_ids: Type.String({ maxLength: 10_000 }) }, closed),
  "querystring",
);

const STEP = "1m";
const STEP_S = 60;
const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

interface Measured {
  readonly vcpus: number;
  readonly memory_mib: number;
  readonly disk_gib: number;
}

/** As E2B's API and the program in a sandbox have it. */
export function metricOf({ at, cpu_seconds, memory_bytes, disk_bytes }: VmMetricsPoint, measured: Measured) {
  return shown({ at, cpu: cpu_seconds / STEP_S / measured.vcpus, memory_bytes, disk_bytes }, measured);
}

interface Point extends Pick<VmMetricsPoint, "at" | "memory_bytes" | "disk_bytes"> {
  /** Of all CPUs, 0 to 1. */
  readonly cpu: number;
}

function shown({ at, cpu, memory_bytes, disk_bytes }: Point, { vcpus, memory_mib, disk_gib }: Measured) {
  return {
    timestamp: at,
    timestampUnix: Math.floor(Date.parse(at) / 1_000),
    cpuCount: vcpus,
    cpuUsedPct: Math.round(cpu * 10_000) / 100,
    ...{ memUsed: memory_bytes, memTotal: memory_mib * MIB, memCache: 0 },
    ...{ diskUsed: disk_bytes, diskTotal: disk_gib * GIB },
  };
}

/** In seconds since 1970. */
interface Span {
  readonly start?: number;
  readonly end?: number;
}

export async function metricsOf(context: Context, caller: Caller, id: string, { start, end }: Span = {}) {
  const row = await livingSandbox(context, caller, id);
  const since = start === undefined ? {} : { since: new Date(start * 1_000).toISOString() };
  const { items } = await readMetrics(context, caller, {
    kind: sandboxVms,
    id,
    query: { step: STEP, ...since },
  });
  // The first minute has begun before the span where that begins in the middle of it.
  const measured = items
    .map((point) => metricOf(point, row))
    .filter(({ timestampUnix: at }) => at >= (start ?? 0) && at <= (end ?? Infinity));
  if (measured.length > 0 || row.status !== "running" || !isUntilNow(end)) return measured;
  return metricsNow(context, caller, row);
}

/** Clients round the time at which they ask. */
function isUntilNow(end = Infinity): boolean {
  return end + 1 >= Math.floor(Date.now() / 1_000);
}

const NOW_WITHIN_MS = 5_000;

/** None where the sandbox does not tell. */
export async function metricsNow(context: Context, caller: Caller, row: Measured & { readonly id: string }) {
  const call = { caller, kind: sandboxVms, id: row.id, gone: AbortSignal.timeout(NOW_WITHIN_MS) };
  const point = await livePoint(context, call).catch((error: unknown) => {
    context.log.debug({ err: error, sandbox_id: row.id }, "a sandbox did not tell what it uses");
    return undefined;
  });
  return point === undefined ? [] : [shown(point, row)];
}

const metrics: E2bHandler = async (context, request) => {
  return metricsOf(context, callerOf(request), idOf(request), readSpan(request.query));
};

const IDS_MAX = 100;

const listMetrics: E2bHandler = async (context, request) => {
  const asked = readIds(request.query).sandbox_ids.split(",");
  const ids = [...new Set(asked.map(sandboxIdIn))].slice(0, IDS_MAX);
  const caller = callerOf(request);
  const known = await findSandboxes(context, caller.orgId, ids);
  const found = await Promise.all(
    known.map(
      async ({ id }) => [bareId(id), (await metricsOf(context, caller, id).catch(() => [])).at(-1)] as const,
    ),
  );
  return { sandboxes: Object.fromEntries(found.filter(([, last]) => last !== undefined)) };
};

const LINES_MAX = 1_000;
const Milliseconds = Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000_000_000_000 }));
const readLogQuery = checker(
  Type.Object(
    { start: Milliseconds, limit: Type.Optional(Type.Integer({ minimum: 0, maximum: LINES_MAX })) },
    closed,
  ),
  "querystring",
);
const readLogQueryV2 = checker(
  Type.Object(
    {
      cursor: Type.Optional(Type.Integer({ minimum: 0 })),
      limit: Type.Optional(Type.Integer({ minimum: 0, maximum: LINES_MAX })),
      direction: Type.Optional(Type.Union([Type.Literal("forward"), Type.Literal("backward")])),
      level: Type.Optional(Type.String({ maxLength: 10 })),
      search: Type.Optional(Type.String({ maxLength: 256 })),
    },
    closed,
  ),
  "querystring",
);

const denialsOf = stateOf((context) => new Denials(context));

const EVENTS_MAX = 500;

/** The events of its life, oldest first. */
async function linesOf(context: Context, caller: Caller, id: string) {
  await livingSandbox(context, caller, id);
  const page = { limit: EVENTS_MAX };
  const { items } = await listEvents(context, caller, {
    kind: sandboxVms,
    id,
    page,
    denials: denialsOf(context),
  });
  return items.toReversed().map(entryOf);
}

function entryOf({ kind, reason, at, count }: VmEvent) {
  const message = [kind.replaceAll("_", " "), reason ?? ""].filter((part) => part !== "").join(": ");
  return { timestamp: at, message, level: "info" as const, fields: { kind, count: String(count) } };
}

const logs: E2bHandler = async (context, request) => {
  const { start = 0, limit = LINES_MAX } = readLogQuery(request.query);
  const entries = (await linesOf(context, callerOf(request), idOf(request)))
    .filter(({ timestamp }) => Date.parse(timestamp) >= start)
    .slice(0, limit);
  return {
    // E2B's command line takes a line for JSON.
    logs: entries.map(({ timestamp, message, level, fields }) => ({
      timestamp,
      line: JSON.stringify({ logger: "skerry", level, message, ...fields }),
    })),
    logEntries: entries,
  };
};

const logsV2: E2bHandler = async (context, request) => {
  const {
    cursor,
    limit = LINES_MAX,
    direction = "forward",
    level,
    search = "",
  } = readLogQueryV2(request.query);
  const all = await linesOf(context, callerOf(request), idOf(request));
  const isForward = direction === "forward";
  const found = (isForward ? all : all.toReversed()).filter(({ timestamp, message }) => {
    const ms = Date.parse(timestamp);
    const isThere = cursor === undefined || (isForward ? ms >= cursor : ms <= cursor);
    return isThere && message.includes(search) && (level === undefined || ["debug", "info"].includes(level));
  });
  return { logs: found.slice(0, limit) };
};

export const historyHandlers = { metrics, listMetrics, logs, logsV2 };
