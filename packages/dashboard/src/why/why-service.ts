// Why a background service is as it is. A condition without a sentence does not compile.

import type { BackgroundService } from "@skerry/sdk";
import { durationText } from "../ui/text.ts";
import { ago, since, until, type Because, type CommonFacts } from "./because.ts";
import { serviceCondition, type ServiceCondition } from "./service-condition.ts";

export interface ServiceFacts extends CommonFacts {
  /** All there are, with this one. */
  readonly services: readonly BackgroundService[];
}

export function whyService(service: BackgroundService, facts: ServiceFacts): Because {
  const text = sentences[serviceCondition(service, facts.nowMs)](service, facts);
  return { text, leads: [{ label: "Background services", to: "/services" }] };
}

const sentences: Readonly<
  Record<ServiceCondition, (service: BackgroundService, facts: ServiceFacts) => string>
> = {
  running: (service, facts) => `A replica of control runs it now${lastText(service, facts)}.`,
  failed: (service, facts) =>
    `It broke off${lastRun(service, facts)}; the log of control says why. Its next turn${next(service, facts)} is its retry.`,
  incomplete: (service, facts) =>
    `It could do nothing about ${service.last_run?.failed ?? 0} of ${service.last_run?.examined ?? "what"} it looked at, and tries again${next(service, facts)}.`,
  late: (service, facts) =>
    `It was due ${ago(service.due_at ?? "", facts)} and no replica has begun it. ${others(service, facts)}`,
  never_ran: () => "It has not run yet: it begins with the first replica of control that has time for it.",
  waiting: (service, facts) =>
    `All is well: it ran${lastRun(service, facts)}, and runs again${next(service, facts)}.`,
};

/** When one is late alone, it is this one; when all are, it is who runs them. */
function others(service: BackgroundService, { services, nowMs }: ServiceFacts): string {
  const late = services.filter((one) => one.name !== service.name && serviceCondition(one, nowMs) === "late");
  if (late.length === 0)
    return "The others run in time, so it is this one that is held up; the log of control says by what.";
  const many = late.length === 1 ? "So is 1 other" : `So are ${late.length} others`;
  return `${many}: control is too busy, cannot reach its database, or is down but for the replica that answers here.`;
}

function lastRun({ last_run: run }: BackgroundService, facts: ServiceFacts): string {
  return run === null ? "" : ` ${ago(run.ended_at, facts)} for ${took(run.duration_ms)}`;
}

function lastText({ last_run: run }: BackgroundService, facts: ServiceFacts): string {
  return run === null
    ? ""
    : `; it ended last ${since(run.ended_at, facts)} ago, after ${took(run.duration_ms)}`;
}

function next({ due_at: due }: BackgroundService, facts: ServiceFacts): string {
  return due === null ? " at once" : ` ${until(due, facts)}`;
}

function took(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : durationText(ms);
}
