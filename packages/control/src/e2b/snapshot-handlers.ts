// Snapshots and forks of sandboxes for E2B's clients. To them a snapshot is a template of one's own: it is deleted by the path of one, and its id is
// what a sandbox is created from.

import type { FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { Type } from "typebox";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { createIdempotently } from "../api/create-idempotently.ts";
import { sandboxFork } from "../sandboxes/fork-sandbox.ts";
import { resumeSandbox } from "../sandboxes/resume-sandbox.ts";
import { sandboxVms } from "../sandboxes/sandbox-vms.ts";
import { setSandboxOptions } from "../sandboxes/sandbox-options.ts";
import { keepAlive } from "../sandboxes/sandboxes.ts";
import { deleteSnapshot as deleteNative, getSnapshot, listSnapshotsOf } from "../snapshots/snapshots.ts";
import { vmSnapshot } from "../snapshots/vm-snapshot.ts";
import { areAllPortsPublic, openAllPorts } from "../vms/ports/ports.ts";
import { connectionOf, idOf } from "./api-request.ts";
import { checker } from "./checked-body.ts";
import { isClosed, mayOpenPorts } from "./port-options.ts";
import type { E2bHandler } from "./e2b-routes.ts";
import { sandboxIdIn } from "./sandbox-ids.ts";
import { durationOf, timeoutDefaults } from "./sandbox-bodies.ts";
import { livingSandbox } from "./sandbox-reads.ts";
import { takeSnapshotName } from "../snapshots/take-snapshot-name.ts";
import type { SnapshotRow } from "../snapshots/snapshot-row.ts";

const closed = { additionalProperties: false } as const;
const FORKS_MAX = 100;
const PAGE_MAX = 100;

const readNewSnapshot = checker(
  Type.Object(
    {
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
      memory: Type.Optional(Type.Boolean()),
    },
    closed,
  ),
  "body",
);
const readFork = checker(
  Type.Object(
    {
      timeout: Type.Optional(Type.Integer({ minimum: 0 })),
      count: Type.Optional(Type.Integer({ minimum: 1, maximum: FORKS_MAX })),
      // A fork without the memory of its source would boot from its disk, which no call here does.
      memory: Type.Optional(Type.Literal(true)),
    },
    closed,
  ),
  "body",
);
const readListQuery = checker(
  Type.Object(
    {
      sandboxID: Type.Optional(Type.String({ maxLength: 100 })),
      name: Type.Optional(Type.String({ maxLength: 300 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX })),
      nextToken: Type.Optional(Type.String({ maxLength: 1_000 })),
    },
    closed,
  ),
  "querystring",
);

const shown = ({ id, name }: Snapshot) => ({ snapshotID: id, names: name === null ? [] : [name] });

const createSnapshot: E2bHandler = async (context, request, reply) => {
  const { name: asked, memory = true } = readNewSnapshot(request.body);
  if (!memory) throw withoutMemory();
  const name = bareSnapshotName(asked);
  const caller = callerOf(request);
  const id = idOf(request);
  await livingSandbox(context, caller, id);
  const running = () => resumeSandbox(context, caller, { id, why: "for a snapshot" });
  // With E2B the newest of a name is what the name means.
  // An id of another one is no name, and is refused as one.
  const isTaken = name !== undefined && (await findNamed(context, caller, name))?.name === name;
  const named = isTaken ? undefined : name;
  const creation = vmSnapshot(context, caller, { kind: sandboxVms, id, name: named, running });
  const taken = await createIdempotently(context, { request, reply }, creation);
  if (isTaken) await takeSnapshotName(context.db, { orgId: caller.orgId, id: taken.id, name });
  return reply.code(201).send(shown({ ...taken, name: name ?? null }));
};

/** In the words by which the clients' programs know that it is not to be had. */
function withoutMemory(): SkerryError {
  return new SkerryError("bad_request", "Filesystem-only snapshots are not enabled for this team.", {
    remediation: "Leave `memory` out: a snapshot has memory and disk.",
  });
}

/** The tag that all names have where they say no other. */
const bareSnapshotName = (name: string | undefined) => name?.replace(/:default$/, "");

function findNamed(context: Context, caller: Caller, name: string): Promise<SnapshotRow | undefined> {
  return getSnapshot(context, caller, name).catch((error: unknown) => {
    if (error instanceof SkerryError && error.code === "snapshot_not_found") return undefined;
    throw error;
  });
}

/** How many pages of ours are looked through for one of theirs, whose filters we have not. */
const PAGES_MAX = 20;

const listSnapshots: E2bHandler = async (context, request, reply) => {
  const { sandboxID, name: asked, limit = PAGE_MAX, nextToken } = readListQuery(request.query);
  const name = bareSnapshotName(asked);
  const source = sandboxID === undefined ? undefined : sandboxIdIn(sandboxID);
  const isMeant = (one: Snapshot) =>
    (source === undefined || one.sandbox_id === source) &&
    (name === undefined || one.name === name || one.id === name);
  const found: Snapshot[] = [];
  let cursor = nextToken ?? null;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page = await listSnapshotsOf(context, callerOf(request), {
      of: "sandbox",
      limit: limit - found.length,
      ...(cursor !== null && { cursor }),
    });
    found.push(...page.items.filter(isMeant));
    cursor = page.next_cursor;
    if (cursor === null || found.length >= limit) break;
  }
  if (cursor !== null) void reply.header("x-next-token", cursor);
  return found.map(shown);
};

const deleteSnapshot: E2bHandler = async (context, request, reply) => {
  const id = (request as FastifyRequest<{ Params: { snapshot: string } }>).params.snapshot;
  await deleteNative(context, callerOf(request), id);
  return reply.code(204).send(null);
};

/** All or none: one that cannot be started fails the call. */
const forkWith =
  (timeoutS: number): E2bHandler =>
  async (context, request, reply) => {
    const { count = 1, timeout = timeoutS } = readFork(request.body);
    const caller = callerOf(request);
    const row = await livingSandbox(context, caller, idOf(request));
    const isPublic = areAllPortsPublic(row) && mayOpenPorts(caller);
    const options = { keepsMemory: row.keeps_memory, ports: row.port_options };
    const creation = sandboxFork(context, caller, { id: idOf(request), count });
    const { items } = await createIdempotently(context, { request, reply }, creation);
    const forks = items.map(async (sandbox) => {
      await keepAlive(context, caller, { id: sandbox.id, timeout: durationOf(timeout), maySooner: true });
      // Natively a fork has no public port; with E2B its ports are as those of the sandbox are that it was made of.
      if (isPublic) await openAllPorts(context, caller, { kind: sandboxVms, id: sandbox.id });
      await setSandboxOptions(context.db, { orgId: caller.orgId, id: sandbox.id }, options);
      return { sandbox: await connectionOf(context, request, sandbox, isClosed(context, row)) };
    });
    return reply.code(201).send(await Promise.all(forks));
  };

export const snapshotHandlers = {
  createSnapshot,
  listSnapshots,
  deleteSnapshot,
  fork: forkWith(timeoutDefaults.v1),
  forkV2: forkWith(timeoutDefaults.v2),
};
