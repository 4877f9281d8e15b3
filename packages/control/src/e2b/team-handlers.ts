// Teams for E2B's clients: a token works for its organization, which is its one team.

import type { FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { Type } from "typebox";
import { callerOf } from "../api/authenticate-hook.ts";
import type { Context } from "../context.ts";
import { getOrganization } from "../organizations/organizations.ts";
import { readUsage } from "../usage/usage.ts";
import { checker } from "./checked-body.ts";
import { keyOfSecret, secretOf } from "./credentials.ts";
import type { E2bHandler } from "./e2b-routes.ts";
import { uuidOf } from "./uuid-ids.ts";

const closed = { additionalProperties: false } as const;
const Seconds = Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000_000_000 }));
const readSpan = checker(Type.Object({ start: Seconds, end: Seconds }, closed), "querystring");
const readMaxSpan = checker(
  Type.Object(
    {
      ...{ start: Seconds, end: Seconds },
      metric: Type.Union([Type.Literal("concurrent_sandboxes"), Type.Literal("sandbox_start_rate")]),
    },
    closed,
  ),
  "querystring",
);

const listTeams: E2bHandler = async (context, request) => {
  const { id, name } = await getOrganization(context, callerOf(request));
  return [{ teamID: uuidOf(id), name, apiKey: keyOfSecret(secretOf(request) ?? ""), isDefault: true }];
};

interface Span {
  readonly start?: number;
  readonly end?: number;
}

const timeOf = (seconds: number) => new Date(seconds * 1_000).toISOString();
const STEP_S = 300;

async function metricsOf(context: Context, request: FastifyRequest, { start, end }: Span) {
  const caller = callerOf(request);
  const { team } = request.params as { readonly team: string };
  if (team !== uuidOf(caller.orgId))
    throw new SkerryError("organization_not_found", "There is no such team.");
  const span = {
    ...(start !== undefined && { since: timeOf(start) }),
    ...(end !== undefined && { until: timeOf(end) }),
  };
  const { items } = await readUsage(context, caller, { step: `${STEP_S}s`, ...span });
  return items.map(({ at, sandboxes, created }) => ({
    ...{ timestamp: at, timestampUnix: Math.floor(Date.parse(at) / 1_000) },
    ...{ concurrentSandboxes: sandboxes, sandboxStartRate: created / STEP_S },
  }));
}

const teamMetrics: E2bHandler = (context, request) => metricsOf(context, request, readSpan(request.query));

const teamMetricsMax: E2bHandler = async (context, request) => {
  const { metric, ...span } = readMaxSpan(request.query);
  const points = (await metricsOf(context, request, span)).map((point) => ({
    ...{ timestamp: point.timestamp, timestampUnix: point.timestampUnix },
    value: metric === "concurrent_sandboxes" ? point.concurrentSandboxes : point.sandboxStartRate,
  }));
  const [first] = points.toSorted((a, b) => b.value - a.value);
  const now = Math.floor(Date.now() / 1_000);
  return first ?? { timestamp: timeOf(now), timestampUnix: now, value: 0 };
};

export const teamHandlers = { listTeams, teamMetrics, teamMetricsMax };
