// Requests of apps in the metrics of this process.

import { ANSWER_TIME_BOUNDS_MS } from "@skerry/contract/apps/app-bounds";
import type { AnswerCounts } from "@skerry/contract/host-api/answer-counts";
import type { TrafficCounts } from "@skerry/contract/host-api/traffic-counts";
import { stateOf, type Context } from "../../context.ts";

interface Counted {
  readonly rows: readonly (TrafficCounts & { readonly app_id: string })[];
  readonly answers: readonly AnswerCounts[];
  readonly orgOf: (appId: string) => string | undefined;
}

const OTHERS = "other";

/** Organizations that have series of their own. */
const namedOf = stateOf(() => new Set<string>());

export function countInMetrics(context: Context, { rows, answers, orgOf }: Counted): void {
  const { appRequests, appAnswers } = context.metrics;
  for (const row of rows) {
    const organization = labelOf(context, orgOf(row.app_id) ?? OTHERS);
    appRequests.add(row.requests - row.client_errors - row.server_errors, organization, "ok");
    appRequests.add(row.client_errors, organization, "client_error");
    appRequests.add(row.server_errors, organization, "server_error");
  }
  for (const { times } of answers) {
    const bounds = [...ANSWER_TIME_BOUNDS_MS.map((ms) => String(ms / 1_000)), "+Inf"];
    let sum = 0;
    for (const [at, bound] of bounds.entries()) {
      sum += times[at] ?? 0;
      appAnswers.add(sum, bound);
    }
  }
}

/** The first ones that had requests, as many as the operator wants, and all others together. */
function labelOf(context: Context, organization: string): string {
  const named = namedOf(context);
  if (named.size < context.limits.metricsOrganizations) named.add(organization);
  return named.has(organization) ? organization : OTHERS;
}
