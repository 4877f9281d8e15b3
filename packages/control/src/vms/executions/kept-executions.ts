// Commands whose output outlives their sandbox, as their organization sees them.

import type { ExecuteQuery } from "@skerry/contract/vms/execute";
import { isId } from "@skerry/contract/ids";
import type { PageQuery } from "@skerry/contract/page";
import type { KeptExecution, KeptExecutionList, KeptOutput } from "@skerry/contract/vms/kept-execution";
import type { Static } from "typebox";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { readPage } from "../../values/page.ts";
import { callVm, type VmKind } from "../vm-kind.ts";
import { endOf, executionNotFound } from "./executions.ts";
import { keepEnd, readOutput, type Read } from "./keep-output.ts";
import {
  endKept,
  findKept,
  listEnding,
  listKept,
  listOrphaned,
  type Ending,
  type KeptHead,
} from "./kept-execution-store.ts";

export const findEnding = listEnding;

export async function listKeptExecutions(
  context: Context,
  { orgId }: Caller,
  page: PageQuery,
): Promise<KeptExecutionList> {
  const found = await readPage("execution", page, (before, limit) =>
    listKept(context.db, { orgId, before, limit }),
  );
  return { ...found, items: found.items.map(shown) };
}

export interface KeptParams {
  readonly kind: VmKind;
  readonly id: string;
  readonly encoding: Static<typeof ExecuteQuery>["encoding"];
  /** The caller went away. */
  readonly gone: AbortSignal;
}

/** While it runs, with what its VM has of it. */
export async function getKeptExecution(
  context: Context,
  caller: Caller,
  { kind, id, encoding = "utf8", gone }: KeptParams,
): Promise<KeptOutput> {
  const row = isId("execution", id) ? await findKept(context.db, caller.orgId, id) : undefined;
  if (row === undefined) throw executionNotFound(id);
  if (row.ended_at !== null)
    return { ...shown(row), stdout: row.stdout.toString(encoding), stderr: row.stderr.toString(encoding) };
  const ref = { kind, id: row.sandbox_id };
  const read = await callVm(context, caller, ref, (vm, client) =>
    readOutput(client, { vm, execution: id }, gone),
  );
  const now = { ...shown({ ...row, ...endIn(row, read) }), output_bytes: read.position };
  return { ...now, stdout: read.stdout.toString(encoding), stderr: read.stderr.toString(encoding) };
}

/** The VM knows that the command has exited some seconds before control stores it. */
function endIn({ started_at }: KeptHead, { exit }: Read): Partial<Pick<KeptHead, "exit" | "ended_at">> {
  return exit === null ? {} : { exit, ended_at: endOf(started_at.getTime(), exit) };
}

/** Ends those whose sandbox went without telling. How many. */
export async function endOrphaned(context: Context, limit: number): Promise<number> {
  const orphaned = await listOrphaned(context.db, limit);
  for (const row of orphaned) {
    const reason = `its sandbox ended: ${row.reason ?? "it is not known why"}`;
    await endUnknown(context, row, reason);
  }
  return orphaned.length;
}

/** Ends one that has exited, or that its VM has forgotten, while its sandbox lives on. */
export async function endInVm(context: Context, one: Ending, end: "exited" | "forgotten"): Promise<void> {
  if (end === "forgotten") return endUnknown(context, one, "its sandbox does not know it any more");
  const vm = { id: one.sandbox_id, execution_id: one.execution_id };
  await keepEnd(context, one, { vm, client: context.hosts.client(one.address) });
}

async function endUnknown(
  { db }: Context,
  row: Pick<KeptHead, "id" | "org_id">,
  reason: string,
): Promise<void> {
  const nothing = { exit: null, position: 0, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  await endKept(db, row, { ...nothing, reason });
}

function shown(row: KeptHead): KeptExecution {
  const { id, sandbox_id, command, destroys_sandbox, exit, reason, ended_at } = row;
  return {
    ...{ id, sandbox_id, command, destroys_sandbox, exit, reason },
    status: ended_at === null ? "running" : exit === null ? "ended" : "exited",
    output_bytes: Number(row.position),
    started_at: row.started_at.toISOString(),
    ended_at: ended_at?.toISOString() ?? null,
  };
}
