// The output of a command that is kept when its sandbox is gone. The VM keeps it while it lives, so it is
// read once: when the command has ended, or before the VM is destroyed.

import { SkerryError } from "@skerry/contract/errors";
import { EXECUTION_WINDOW_BYTES } from "@skerry/contract/bounds";
import type { ExecuteExit } from "@skerry/contract/vms/execute";
import type { ExecutionRef, OutputEvent } from "../../host-client/execution-calls.ts";
import type { HostClient } from "../../host-client/host-client.ts";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { callVm, clientOf, type VmRef, type VmRow } from "../vm-kind.ts";
import { redactorOfVmId } from "../vm-redactor.ts";
import {
  deleteKept,
  endKept,
  findRunning,
  insertKept,
  type End,
  type KeptHead,
} from "./kept-execution-store.ts";

const READ_WITHIN_MS = 5_000;
const COMMAND_SHOWN_CHARS = 1_024;

export interface Keeping extends VmRef {
  readonly execution: string;
  readonly command: string;
  readonly request: { readonly keep_output?: boolean; readonly destroy_sandbox?: boolean };
}

/** Runs `start` as a command whose output is kept, where its request asks for that. */
export async function startKept<T>(
  context: Context,
  caller: Caller,
  keeping: Keeping,
  start: () => Promise<T>,
): Promise<T> {
  const { keep_output = false, destroy_sandbox = false } = keeping.request;
  if (!keep_output && !destroy_sandbox) return start();
  await begin(context, caller, keeping);
  try {
    return await start();
  } catch (error) {
    await deleteKept(context.db, keeping.execution);
    throw error;
  }
}

async function begin(
  context: Context,
  caller: Caller,
  { kind, id, execution, command, request }: Keeping,
): Promise<void> {
  const { destroy_sandbox = false } = request;
  if (kind.noun !== "sandbox") throw notOfMachines(destroy_sandbox);
  if (destroy_sandbox && !caller.scopes.has("sandboxes:write")) throw mayNotDestroy();
  // Throws where there is none.
  const { id: sandboxId } = await kind.get(context, caller, id);
  const shown = command.slice(0, COMMAND_SHOWN_CHARS).toWellFormed();
  const row = {
    ...{ id: execution, org_id: caller.orgId, sandbox_id: sandboxId },
    ...{ command: shown, destroys_sandbox: destroy_sandbox },
  };
  if (!(await insertKept(context.db, row))) throw oneIsKept();
}

/** The events of a command, whose exit is passed on when what it has printed is stored. */
export async function* keptAtExit(
  context: Context,
  caller: Caller,
  { kind, id, execution, request }: Keeping,
  events: AsyncIterable<OutputEvent>,
): AsyncGenerator<OutputEvent> {
  for await (const event of events) {
    if (event.kind === "exit" && request.keep_output === true) {
      const row = { id: execution, org_id: caller.orgId };
      await callVm(context, caller, { kind, id }, (vm, client) =>
        keepEnd(context, row, { vm, client }),
      ).catch((error: unknown) => notKept(context, id, error));
    }
    yield event;
  }
}

/** Stores the end of a command whose sandbox lives on. */
export async function keepEnd(
  context: Context,
  row: Pick<KeptHead, "id" | "org_id">,
  { vm, client }: { readonly vm: ExecutionRef["vm"]; readonly client: HostClient },
): Promise<void> {
  const signal = AbortSignal.timeout(READ_WITHIN_MS);
  const read = await readOutput(client, { vm, execution: row.id }, signal);
  if (read.exit !== null)
    await endKept(context.db, row, { ...(await redacted(context, vm.id, read)), reason: null });
}

/**
 * Reads what a VM has of it, before that is destroyed. Where it cannot be read, it stays to be read by the
 * next attempt.
 */
export async function keepBeforeDestruction(
  context: Context,
  { id, execution_id, host_id }: Pick<VmRow, "id" | "execution_id" | "host_id">,
): Promise<void> {
  const running = await findRunning(context.db, id);
  if (running === undefined) return;
  try {
    const client = await clientOf(context, { id, host_id });
    const ref = { vm: { id, execution_id }, execution: running.id };
    const read = await readOutput(client, ref, AbortSignal.timeout(READ_WITHIN_MS));
    const reason = read.exit === null ? "its sandbox was destroyed while it ran" : null;
    await endKept(context.db, running, { ...(await redacted(context, id, read)), reason });
  } catch (error) {
    notKept(context, id, error);
  }
}

/** Without the secrets of its VM: what is kept outlives them. */
async function redacted(context: Context, vmId: string, read: Read): Promise<Read> {
  const redactor = await redactorOfVmId(context, vmId);
  return {
    ...read,
    stdout: redactor.redactBytes(read.stdout),
    stderr: redactor.redactBytes(read.stderr),
  };
}

function notKept({ log }: Context, id: string, error: unknown): void {
  log.warn({ err: error, sandbox_id: id }, "the output of a command could not be kept");
}

export type Read = Omit<End, "reason">;

/** Output that the VM has kept so far. */
export async function readOutput(client: HostClient, ref: ExecutionRef, stop: AbortSignal): Promise<Read> {
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let exit: ExecuteExit | null = null;
  let end = 0;
  let position = 0;
  let bytes = 0;
  for await (const event of await client.executions.follow(ref, { after: 0, hold: false }, stop)) {
    position = event.position;
    if (event.kind === "start") {
      end = event.state.position;
      exit = event.state.exit;
    } else if (event.kind === "exit") exit = event.state.exit;
    else if (event.kind === "stdout" || event.kind === "stderr") {
      output[event.kind].push(event.bytes);
      bytes += event.bytes.length;
    }
    // A command that runs gives what it had written when it was asked. A guest keeps no more than its window,
    // and one that sends more lies.
    if ((exit === null && position >= end) || bytes > 2 * EXECUTION_WINDOW_BYTES) break;
  }
  return { exit, position, stdout: Buffer.concat(output.stdout), stderr: Buffer.concat(output.stderr) };
}

function notOfMachines(destroys: boolean): SkerryError {
  const field = destroys ? "destroy_sandbox" : "keep_output";
  return new SkerryError("bad_request", `"${field}" is for sandboxes.`, {
    remediation: "A machine keeps what its commands print itself; leave the field out.",
    context: { field },
  });
}

function mayNotDestroy(): SkerryError {
  return new SkerryError("forbidden", '"destroy_sandbox" needs the scope sandboxes:write.', {
    remediation: "Use a token with this scope, or leave the field out.",
    context: { field: "destroy_sandbox" },
  });
}

function oneIsKept(): SkerryError {
  return new SkerryError("sandbox_busy", "The sandbox keeps the output of another command already.", {
    remediation: 'Leave "keep_output" and "destroy_sandbox" out: one command of a sandbox has them.',
  });
}
