// Writes and shows the audit log. An event tells who, what, to which resource and how it ended; never a name, a value or the text of an
// error, because those may be secrets, and a command or a path only where the organization has asked for them.

import type { FastifyRequest } from "fastify";
import type { AuditAction } from "@skerry/contract/audit/audit-actions";
import type { AuditEvent, AuditQuery } from "@skerry/contract/audit/audit-event";
import { newId } from "@skerry/contract/ids";
import {
  insertAuditEventAfterwards,
  insertAuditEvents,
  type AuditRow,
  type NewAuditEvent,
} from "./insert-audit-events.ts";
import { listAuditEvents, type AuditFilter } from "./audit-store.ts";
import type { Queries } from "../db/database.ts";
import type { Caller, Tenant } from "../caller.ts";
import type { AuditSink } from "./audit-sink.ts";
import { checkAction } from "./check-action.ts";
import { withNames } from "./resource-names.ts";
import { checkText } from "../values/check-text.ts";
import { readTime } from "../values/times.ts";
import { readPage, type Page } from "../values/page.ts";
import type { FoldedEvent } from "./folded-events.ts";

/** What a caller asked for. */
export interface Act {
  readonly action: AuditAction;
  readonly resource: string;
  /** The resource is the one that `:id` in the path names, whatever else the call names or answers. */
  readonly isOfPath?: true;
  /** It changes nothing, whatever its method is: only its refusals are kept. */
  readonly isRead?: true;
  /** The id of the resource, of a request whose path and answer have none. */
  readonly idOfRequest?: (request: FastifyRequest) => string | undefined;
  /** What else is kept of a request where its organization wants it; never what may hold an environment, or what a command reads. */
  readonly detail?: (request: { readonly body: unknown; readonly url: string }) => string | undefined;
}

export interface Ending {
  readonly outcome: AuditRow["outcome"];
  readonly code: string | null;
}

export const succeeded: Ending = { outcome: "success", code: null };

export interface CallerAct extends Omit<Act, "detail" | "isOfPath"> {
  readonly caller: Pick<Caller, "orgId" | "userId" | "tokenId">;
  readonly resourceId: string | null;
  readonly detail: string | null;
  readonly address: string | null;
  readonly requestId: string;
}

/**
 * What has already happened: its caller is told so whether the event can be stored or not. Where it cannot, it goes to the log, whole.
 */
export async function recordCallAfterwards(
  context: AuditSink,
  act: CallerAct,
  ending: Ending,
): Promise<void> {
  const event = eventOfCall(act, ending);
  // The call has just waited for the database in vain; its answer should not wait once more.
  if (ending.code === "database_unavailable") return sendToLog(context, event, ending.code);
  await insertAuditEventAfterwards(context.db, event).catch((error: unknown) =>
    sendToLog(context, event, error),
  );
}

/** The same for equal ones together. */
export async function recordFolded(context: AuditSink, events: readonly FoldedEvent[]): Promise<void> {
  try {
    for (let start = 0; start < events.length; start += EVENTS_PER_STATEMENT) {
      await insertAuditEvents(context.db, events.slice(start, start + EVENTS_PER_STATEMENT));
    }
  } catch (error) {
    for (const event of events) sendToLog(context, event, error);
  }
}

/** PostgreSQL takes 65,535 values in a statement, and an event has 14. */
const EVENTS_PER_STATEMENT = 1_000;

function sendToLog(context: Pick<AuditSink, "log" | "metrics">, event: NewAuditEvent, error: unknown): void {
  context.metrics.auditLost.add(1);
  context.log.error({ err: error, audit_event: event }, "an audit event could not be stored");
}

/** A call that has been made, told to the log of another organization too, in the transaction in which it took effect. */
export async function recordCallElsewhere(db: Queries, act: CallerAct, orgId: string): Promise<void> {
  await insertAuditEvents(db, [{ ...eventOfCall(act, succeeded), org_id: orgId }]);
}

/** The resource that it was done to. */
interface OwnAct {
  readonly id: string;
  readonly org_id: string;
  readonly detail?: string;
  /** How often since the last event of it; once where it is not said. */
  readonly count?: number;
}

/** What a background service did to these resources by itself, in the transaction in which it did so. */
export async function recordOwnActs(
  db: Queries,
  { service, action, resource }: Act & { readonly service: string },
  rows: readonly OwnAct[],
): Promise<void> {
  await insertAuditEvents(
    db,
    rows.map(({ id, org_id, detail = null, count = 1 }) => ({
      ...noCaller,
      id: newId("audit"),
      org_id,
      service,
      action,
      resource_kind: resource,
      resource_id: id,
      detail,
      count,
      ...succeeded,
    })),
  );
}

/** What a call has caused beside what it asked for. `service` says who did it where the request needed no token. */
export function causedEvent(
  caller: Tenant & Partial<Pick<Caller, "userId" | "tokenId">>,
  { action, resource, resourceId, service }: Act & { readonly resourceId: string; readonly service: string },
): NewAuditEvent {
  const { orgId, userId = null, tokenId = null } = caller;
  return {
    ...{ id: newId("audit"), org_id: orgId, address: null, request_id: null, detail: null },
    ...{ user_id: userId, token_id: tokenId, service: userId === null ? service : null },
    ...{ action, resource_kind: resource, resource_id: resourceId },
    ...succeeded,
  };
}

const noCaller = { user_id: null, token_id: null, address: null, request_id: null } as const;

export function eventOfCall(act: CallerAct, ending: Ending): NewAuditEvent {
  return {
    id: newId("audit"),
    org_id: act.caller.orgId,
    service: null,
    user_id: act.caller.userId,
    token_id: act.caller.tokenId,
    address: act.address,
    request_id: act.requestId,
    action: act.action,
    resource_kind: act.resource,
    resource_id: act.resourceId,
    // Nothing was run, and the request was not even read.
    detail: ending.outcome === "denied" ? null : act.detail,
    ...ending,
  };
}

export async function listAuditLog(
  context: { readonly db: Queries },
  orgId: string,
  query: AuditQuery,
): Promise<Page<AuditEvent>> {
  const filter = auditFilterOf(query);
  const page = await readPage("audit", query, (before, limit) =>
    listAuditEvents(context.db, {
      ...filter,
      orgId,
      limit,
      ...(before === undefined ? {} : { before }),
    }),
  );
  // Ids are made by the clocks of replicas, a moment before the time is written: nearly the same order, and not quite.
  const items = page.items.toSorted((a, b) => b.at.getTime() - a.at.getTime());
  return { ...page, items: await withNames(context.db, orgId, items.map(auditEventOf)) };
}

/** Throws where a time is none, or there is no such action. */
export function auditFilterOf({
  limit: _limit,
  cursor: _cursor,
  since,
  until,
  ...texts
}: AuditQuery): Omit<AuditFilter, "orgId" | "limit" | "before"> {
  for (const [field, text] of Object.entries(texts)) checkText(field, text);
  if (texts.action !== undefined) checkAction(texts.action);
  return {
    ...texts,
    ...(since === undefined ? {} : { since: readTime("since", since) }),
    ...(until === undefined ? {} : { until: readTime("until", until) }),
  };
}

/** Without names, which `withNames` adds. */
export function auditEventOf(row: AuditRow): AuditEvent {
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor: {
      kind: row.service === null ? "user" : "system",
      user_id: row.user_id,
      user_name: null,
      token_id: row.token_id,
      token_name: null,
      service: row.service,
      address: row.address,
    },
    action: row.action,
    resource: { kind: row.resource_kind, id: row.resource_id, name: null },
    detail: row.detail,
    outcome: row.outcome,
    count: row.count,
    code: row.code,
    request_id: row.request_id,
    organization_id: row.org_id,
  };
}
