// E2B's API: each call is a native one. Loaded when the first call comes.

import type { FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import type { SandboxCreateRequest } from "@skerry/contract/sandboxes/sandbox";
import { callerOf } from "../api/authenticate-hook.ts";
import { createIdempotently } from "../api/create-idempotently.ts";
import { RequestTiming } from "../http/request-timing.ts";
import { pauseSandbox } from "../sandboxes/pause-sandbox.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { openAllPorts } from "../vms/ports/ports.ts";
import { setEgress } from "../vms/egress/egress.ts";
import { destroySandbox } from "../sandboxes/destroy-sandbox.ts";
import { resumeSandbox } from "../sandboxes/resume-sandbox.ts";
import { sandboxCreation } from "../sandboxes/sandbox-creation.ts";
import { setSandboxOptions } from "../sandboxes/sandbox-options.ts";
import { keepAlive } from "../sandboxes/sandboxes.ts";
import type { PortOptions } from "../db/tables/sandbox-tables.ts";
import { isClosed, opensPorts, portOptionsOf } from "./port-options.ts";
import { getSnapshot } from "../snapshots/snapshots.ts";
import { apiKeyHandlers } from "./api-key-handlers.ts";
import { nativeNameOf } from "./bare-names.ts";
import { connectionOf, idOf } from "./api-request.ts";
import { accessNoter } from "./credentials.ts";
import type { ApiHandlers, E2bHandler } from "./e2b-routes.ts";
import { sandboxVms } from "../sandboxes/sandbox-vms.ts";
import { historyHandlers } from "./history-handlers.ts";
import { egressRequestOf } from "./network.ts";
import {
  durationOf,
  readNetworkUpdate,
  readConnect,
  readNewSandbox,
  readPause,
  readRefresh,
  readResume,
  readTimeout,
  timeoutDefaults,
  type NewSandbox,
} from "./sandbox-bodies.ts";
import { livingSandbox, readDetail, readList } from "./sandbox-reads.ts";
import { e2bStates } from "./sandbox-view.ts";
import { snapshotHandlers } from "./snapshot-handlers.ts";
import { teamHandlers } from "./team-handlers.ts";
import { templateBuildHandlers } from "./template-build-handlers.ts";
import { sizeOfTemplate, templateProgressHandlers } from "./template-builds.ts";
import { templateHandlers } from "./template-handlers.ts";

/** Versions differ in the time of a sandbox whose request names none. */
function creationWith(timeoutS: number): E2bHandler {
  return (context, request, reply) => {
    const { timeout = timeoutS, ...body } = readNewSandbox(request.body);
    return create(context, { request, reply }, { ...body, timeout });
  };
}

async function create(
  context: Context,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  body: NewSandbox,
) {
  const caller = callerOf(request);
  const isPublic = opensPorts(context, caller, body.network);
  const templateID = await nativeNameOf(context, caller, body.templateID);
  const size = await sizeOfTemplate(context, caller, templateID);
  const asked = { ...nativeRequest({ ...body, templateID }), ...(size !== undefined && { size }) };
  const timing = new RequestTiming(reply);
  const writeMore = await accessNoter(context, request, caller.orgId);
  const create = (asked: SandboxCreateRequest) =>
    createIdempotently(
      context,
      { request, reply },
      sandboxCreation(context, caller, { request: asked, timing, writeMore }),
    );
  const sandbox = await create(asked).catch(async (error: unknown) => {
    const { template, ...others } = asked;
    if (template === undefined || !(error instanceof SkerryError) || error.code !== "unknown_template")
      throw error;
    // Snapshots are templates to E2B's clients.
    const snapshot = await getSnapshot(context, caller, template).catch(() => undefined);
    if (snapshot === undefined) throw error;
    return create({ ...others, snapshot: snapshot.id });
  });
  const ports = portOptionsOf(context, body.network);
  await noteOptions(context, caller, { id: sandbox.id, body, ports, isPublic });
  return reply.code(201).send(await connectionOf(context, request, sandbox, !isPublic));
}

interface Noted {
  readonly id: string;
  readonly body: NewSandbox;
  readonly ports: PortOptions;
  readonly isPublic: boolean;
}

async function noteOptions(
  context: Context,
  caller: Caller,
  { id, body: { autoPauseMemory: keepsMemory = true }, ports, isPublic }: Noted,
): Promise<void> {
  await Promise.all([
    isPublic ? openAllPorts(context, caller, { kind: sandboxVms, id }) : undefined,
    ports.e2b === undefined && keepsMemory
      ? undefined
      : setSandboxOptions(context.db, { orgId: caller.orgId, id }, { keepsMemory, ports }),
  ]);
}

function nativeRequest(body: NewSandbox): SandboxCreateRequest {
  const { templateID, timeout, autoPause = false, metadata, envVars } = body;
  // What a client says by default is left to the organization's default.
  const isInternetAllowed = body.allow_internet_access === false ? false : undefined;
  if (body.autoPauseMemory === false && body.autoResume?.enabled === true)
    throw new SkerryError(
      "bad_request",
      'A sandbox that is paused without its memory is resumed by request alone: leave "autoResume" out, or "autoPauseMemory".',
    );
  const egress = egressRequestOf(body.network, isInternetAllowed);
  return {
    ...(isId("snapshot", templateID) ? { snapshot: templateID } : { template: templateID }),
    mode: autoPause ? "persistent" : "ephemeral",
    auto_resume: body.autoResume?.enabled === true,
    timeout: durationOf(timeout),
    ...(metadata !== undefined && { metadata }),
    ...(envVars !== undefined && { env: envVars }),
    ...(egress !== undefined && { egress }),
  };
}

const list: E2bHandler = (context, request, reply) =>
  readList(context, callerOf(request), { request, reply });

function connectionWith(timeoutS: number): E2bHandler {
  return async (context, request, reply) => {
    const { timeout: asked = timeoutS, memory = true } = readConnect(request.body);
    const timeout = durationOf(asked);
    const caller = callerOf(request);
    const id = idOf(request);
    const row = await livingSandbox(context, caller, id);
    const wasRunning = row.status === "running";
    if (!memory && row.status === "paused" && !row.reboots) await giveUpMemory(context, caller, id);
    const running = wasRunning ? row : await resumeSandbox(context, caller, { id, why: "by request" });
    await keepAlive(context, caller, { id, timeout, maySooner: !wasRunning });
    return reply
      .code(wasRunning ? 200 : 201)
      .send(await connectionOf(context, request, running, isClosed(context, running)));
  };
}

/** What its programs had not written to its disk when it was paused is written there before it boots from that. */
async function giveUpMemory(context: Context, caller: Caller, id: string): Promise<void> {
  await resumeSandbox(context, caller, { id, why: "to be booted anew" });
  await pauseSandbox(context, caller, id, { ephemeralToo: true, withoutMemory: true });
}

const nothing = (reply: FastifyReply): FastifyReply => reply.code(204).send(null);

export const apiHandlers: ApiHandlers = {
  create: creationWith(timeoutDefaults.v1),
  createV2: creationWith(timeoutDefaults.v2),
  // The first version of the list knows nothing but what runs.
  list: (context, request, reply) =>
    readList(context, callerOf(request), { request, reply, statuses: e2bStates.running }),
  listV2: list,
  get: (context, request) => readDetail(context, callerOf(request), { id: idOf(request), request }),
  kill: async (context, request, reply) => {
    const caller = callerOf(request);
    await livingSandbox(context, caller, idOf(request));
    await destroySandbox(context, caller, idOf(request));
    return nothing(reply);
  },
  setTimeout: async (context, request, reply) => {
    const params = { id: idOf(request), timeout: durationOf(readTimeout(request.body)), maySooner: true };
    await keepAlive(context, callerOf(request), params).catch(unlessEnded);
    return nothing(reply);
  },
  refresh: async (context, request, reply) => {
    const { duration } = readRefresh(request.body);
    const params = { id: idOf(request), timeout: durationOf(duration) };
    await keepAlive(context, callerOf(request), params).catch(unlessEnded);
    return nothing(reply);
  },
  connect: connectionWith(timeoutDefaults.v1),
  connectV2: connectionWith(timeoutDefaults.v2),
  pause: async (context, request, reply) => {
    const { memory = true } = readPause(request.body);
    const caller = callerOf(request);
    const id = idOf(request);
    const { status } = await livingSandbox(context, caller, id);
    if (status === "paused" || status === "pausing")
      throw new SkerryError("sandbox_not_running", "The sandbox is paused already.");
    await pauseSandbox(context, caller, id, { ephemeralToo: true, withoutMemory: !memory });
    return nothing(reply);
  },
  resume: async (context, request, reply) => {
    const { timeout } = readResume(request.body);
    const caller = callerOf(request);
    const id = idOf(request);
    const { status } = await livingSandbox(context, caller, id);
    if (status === "running") throw new SkerryError("vm_in_use", "The sandbox runs already.");
    const running = await resumeSandbox(context, caller, { id, why: "by request" });
    await keepAlive(context, caller, { id, timeout: durationOf(timeout), maySooner: true });
    return reply.code(201).send(await connectionOf(context, request, running, isClosed(context, running)));
  },
  setNetwork: async (context, request, reply) => {
    const { allow_internet_access: isInternetAllowed, ...network } = readNetworkUpdate(request.body);
    const caller = callerOf(request);
    const id = idOf(request);
    await livingSandbox(context, caller, id);
    // An update without rules removes those that there are, and must not open what the organization keeps closed: its default holds again.
    const egress = egressRequestOf(network, isInternetAllowed) ?? {};
    await setEgress(context, caller, { kind: sandboxVms, id, request: egress });
    return nothing(reply);
  },
  ...historyHandlers,
  ...snapshotHandlers,
  ...apiKeyHandlers,
  ...teamHandlers,
  ...templateHandlers,
  ...templateBuildHandlers,
  ...templateProgressHandlers,
};

/** One that does not run has no time to set: to E2B's clients it is not there. */
function unlessEnded(error: unknown): never {
  if (!(error instanceof SkerryError) || error.code !== "sandbox_not_running") throw error;
  throw new SkerryError("sandbox_not_found", "There is no such sandbox that runs.", { cause: error });
}
