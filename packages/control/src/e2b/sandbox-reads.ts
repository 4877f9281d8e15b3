// Lists and reads of sandboxes for E2B's clients.

import type { FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { sandboxStatusesAlive, type SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { getSandbox, listSandboxRows, sandboxFor } from "../sandboxes/sandboxes.ts";
import { readTime } from "../values/times.ts";
import { areAllPortsPublic } from "../vms/ports/ports.ts";
import { vmNotFound } from "../vms/vm-names.ts";
import { connectionOf } from "./api-request.ts";
import { isClosed } from "./port-options.ts";
import { readListQuery, type ListQuery } from "./sandbox-bodies.ts";
import { templateIds, versionsMeant } from "./template-ids.ts";
import { e2bStates, listedSandbox, sandboxDetail } from "./sandbox-view.ts";

const PAGE_MAX = 100;

/** What there is of it, as far as E2B's clients can see: one that has ended is not there any more. */
export async function livingSandbox(context: Context, caller: Caller, id: string) {
  const row = await getSandbox(context, caller, id);
  const isAlive = (sandboxStatusesAlive as readonly SandboxStatus[]).includes(row.status);
  if (!isAlive) throw vmNotFound({ noun: "sandbox", table: "sandboxes" }, id);
  return row;
}

export async function readDetail(
  context: Context,
  caller: Caller,
  { id, request }: { readonly id: string; readonly request: FastifyRequest },
) {
  const row = await livingSandbox(context, caller, id);
  const connection = await connectionOf(context, request, row, isClosed(context, row));
  const facts = { diskGib: row.disk_gib, isPublic: areAllPortsPublic(row), ports: row.port_options };
  return sandboxDetail({ ...sandboxFor(caller, row), template: connection.templateID }, facts, connection);
}

/** A page; where the next one begins is in a header. */
export async function readList(
  context: Context,
  caller: Caller,
  { request, reply, statuses }: ListRequest,
): Promise<unknown> {
  const query = readListQuery(request.query);
  const page = await listSandboxRows(context, caller, {
    statuses: statuses ?? statusesOf(query),
    limit: query.limit ?? PAGE_MAX,
    metadata: readMetadata(query.metadata),
    // Their clients know none that they have not made.
    owner: "none",
    ...(query.order !== undefined && { order: query.order }),
    ...(query.template !== undefined && { templates: await versionsMeant(context, caller, query.template) }),
    ...(query.startedAfter !== undefined && { startedFrom: readTime("startedAfter", query.startedAfter) }),
    ...(query.nextToken !== undefined && { cursor: query.nextToken }),
  });
  if (page.next_cursor !== null) void reply.header("x-next-token", page.next_cursor);
  const templates = page.items.map(({ template }) => template);
  const idOf = await templateIds(context, caller, templates);
  return page.items.map((row) =>
    listedSandbox({ ...sandboxFor(caller, row), template: idOf(row.template) }, row.disk_gib),
  );
}

interface ListRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Default: those that the request asks for. */
  readonly statuses?: readonly SandboxStatus[];
}

function statusesOf({ state }: ListQuery): readonly SandboxStatus[] {
  const told = [state ?? ""].flat().join(",");
  const asked = told === "" ? Object.keys(e2bStates) : told.split(",");
  return asked.flatMap((one) => {
    if (one === "running" || one === "paused") return e2bStates[one];
    throw new SkerryError("bad_request", `"state" is "${one.slice(0, 50)}"; it is "running" or "paused".`);
  });
}

/** `key=value&key=value`; the clients encode keys and values once more. */
function readMetadata(text: string | undefined): Record<string, string> {
  const entries = [...new URLSearchParams(text ?? "")];
  return Object.fromEntries(entries.map(([key, value]) => [decoded(key), decoded(value)]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
