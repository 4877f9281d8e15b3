// One method per call of the host API. Every call has a deadline; every failure is a SkerryError.

import type { Pool } from "undici";
import { Compile } from "typebox/compile";
import { HostEgressReport, type HostEgress } from "@skerry/contract/vms/egress";
import { CertificateRequest, type HostCertificate } from "@skerry/contract/joining/host-certificate";
import { CacheSwept, HostInfo } from "@skerry/contract/host-api/host-info";
import {
  CONSOLE_FROM,
  TIMED_CONSOLE,
  timedPieces,
  untimedPieces,
  type TimedPiece,
} from "@skerry/contract/host-api/timed-console";
import { SkerryError } from "@skerry/contract/errors";
import {
  COMMAND_WITH_INPUT,
  VmList,
  Vm,
  type EgressChange,
  type ExecuteCommand,
  type StopVm,
  type VmSpec,
} from "@skerry/contract/host-api/vm";
import { CheckCalls } from "./check-calls.ts";
import { Deadline } from "./deadline.ts";
import { EdgeCalls } from "./edge-calls.ts";
import { KeptLogCalls } from "./kept-log-calls.ts";
import { ExecutionCalls } from "./execution-calls.ts";
import { executionEvents, type ExecutionEvent } from "./execution-events.ts";
import { FileCalls } from "./file-calls.ts";
import { hostErrorOfCall } from "./host-errors.ts";
import { HostTransport, type Call } from "./host-transport.ts";
import { MetricCalls } from "./metric-calls.ts";
import { MoveCalls } from "./move-calls.ts";
import { SavedMoveCalls } from "./saved-move-calls.ts";
import { SnapshotCalls } from "./snapshot-calls.ts";
import { PortCalls } from "./port-calls.ts";
import { TemplateCalls } from "./template-calls.ts";
import type { VmRef } from "./vm-ref.ts";

export interface VmStartOptions {
  readonly stop?: AbortSignal | undefined;
  /** Told how long it waited for its template to be frozen, where it did. */
  readonly onTiming?: Call["onTiming"];
}

interface ConsoleWish {
  readonly lines: number;
  /** Position of the first byte. */
  readonly from?: number | undefined;
  readonly follow: boolean;
}

const CALL_DEADLINE_MS = 10_000;
/** A frozen template is gigabytes. */
const SWEEP_DEADLINE_MS = 60_000;
/** The first clone of a template waits until the template is built. */
const START_DEADLINE_MS = 180_000;
const DESTROY_DEADLINE_MS = 15_000;
/** Beyond the grace of the main process, for the guest to sync its disk and for QEMU to end. */
const STOP_DEADLINE_MS = 30_000;
/** Beyond the command's own timeout, for the way there and back and for a reader that is slow. */
const EXECUTE_GRACE_MS = 30_000;
/** A transfer in which nothing moves for this long is dead. */
const TRANSFER_IDLE_MS = 60_000;

const shapes = {
  info: Compile(HostInfo),
  certificateRequest: Compile(CertificateRequest),
  vm: Compile(Vm),
  vms: Compile(VmList),
  swept: Compile(CacheSwept),
  egress: Compile(HostEgressReport),
};

export class HostClient {
  readonly #transport: HostTransport;
  readonly #lasting: HostTransport;
  /** By which VMs move. */
  readonly moves: MoveCalls;
  /** By which saved guests do. */
  readonly savedMoves: SavedMoveCalls;
  /** Commands that run on when their reader goes. */
  readonly executions: ExecutionCalls;
  readonly checks: CheckCalls;
  /** The proxy in front of apps. */
  readonly edge: EdgeCalls;
  readonly keptLogs: KeptLogCalls;
  readonly files: FileCalls;
  readonly snapshots: SnapshotCalls;
  readonly metrics: MetricCalls;
  readonly templates: TemplateCalls;
  /** What reaches the ports of guests. */
  readonly ports: PortCalls;

  /** `lasting`: for answers that last as long as a command runs, so that however many there are leave the others their connections.
   *  `headers`: those of every call. */
  constructor(
    { pool, lasting }: { readonly pool: Pool; readonly lasting: Pool },
    headers?: () => Readonly<Record<string, string>>,
  ) {
    this.#transport = new HostTransport(pool, headers);
    this.#lasting = new HostTransport(lasting, headers);
    this.moves = new MoveCalls(this.#transport);
    this.savedMoves = new SavedMoveCalls(this.#transport);
    this.executions = new ExecutionCalls(this.#transport, this.#lasting);
    this.checks = new CheckCalls(this.#transport);
    this.edge = new EdgeCalls(this.#transport);
    this.keptLogs = new KeptLogCalls(this.#transport);
    this.files = new FileCalls(this.#transport, this.#lasting);
    this.snapshots = new SnapshotCalls(this.#transport);
    this.metrics = new MetricCalls(this.#transport);
    this.templates = new TemplateCalls(this.#lasting);
    this.ports = new PortCalls(this.#transport);
  }

  info(stop?: AbortSignal): Promise<HostInfo> {
    return this.#transport.json(
      { method: "GET", path: "/info" },
      shapes.info,
      new Deadline(CALL_DEADLINE_MS, stop),
    );
  }

  /** The host makes a key for this, and uses it once the certificate has come. */
  requestCertificate(stop?: AbortSignal): Promise<CertificateRequest> {
    const call = { method: "POST", path: "/identity/request" } as const;
    return this.#transport.json(call, shapes.certificateRequest, new Deadline(CALL_DEADLINE_MS, stop));
  }

  installCertificate(certificate: HostCertificate, stop?: AbortSignal): Promise<void> {
    const call = { method: "PUT", path: "/identity", json: certificate } as const;
    return this.#transport.done(call, new Deadline(CALL_DEADLINE_MS, stop));
  }

  /** Removes what no template and no disk of the host needs any more. */
  sweepCache(stop?: AbortSignal): Promise<CacheSwept> {
    const call = { method: "POST", path: "/cache/sweep" } as const;
    return this.#transport.json(call, shapes.swept, new Deadline(SWEEP_DEADLINE_MS, stop));
  }

  async listVms(stop?: AbortSignal): Promise<readonly Vm[]> {
    const call = { method: "GET", path: "/vms" } as const;
    return (await this.#transport.json(call, shapes.vms, new Deadline(CALL_DEADLINE_MS, stop))).items;
  }

  /** Answers once the VM is usable, where calls for it wait until it is awake. The same call twice is one VM. */
  startVm(id: string, spec: VmSpec, { stop, onTiming }: VmStartOptions = {}): Promise<Vm> {
    const call = { method: "PUT", path: vmPath(id), json: spec, onTiming } as const;
    return this.#transport.json(call, shapes.vm, new Deadline(START_DEADLINE_MS, stop));
  }

  /** Also succeeds where the VM is gone already. */
  destroyVm(vm: VmRef, stop?: AbortSignal): Promise<void> {
    const call = { method: "DELETE", path: vmPath(vm.id), query: { execution_id: vm.execution_id } } as const;
    return this.#transport.done(call, new Deadline(DESTROY_DEADLINE_MS, stop));
  }

  /** Only for machines. Resolves when it has stopped; its disk is kept. The same call twice is one stop. */
  stopVm(
    vm: VmRef,
    graceMs: number,
    {
      stop,
      unusedMs,
    }: { readonly stop?: AbortSignal | undefined; readonly unusedMs?: number | undefined } = {},
  ): Promise<Vm> {
    const unused = unusedMs === undefined ? {} : { unused_ms: unusedMs };
    const order: StopVm = { execution_id: vm.execution_id, grace_ms: graceMs, ...unused };
    const call = {
      method: "POST",
      path: `${vmPath(vm.id)}/stop`,
      json: order,
    } as const;
    return this.#transport.json(call, shapes.vm, new Deadline(graceMs + STOP_DEADLINE_MS, stop));
  }

  /**
   * The console log's last lines as they are, or all from a position on, and with `follow` what comes then,
   * until the machine is destroyed or `gone` aborts. A host of the version before tells no positions, and has
   * the last lines in any case; one of the version before that tells no times.
   */
  async console(
    id: string,
    { lines, from, follow }: ConsoleWish,
    gone: AbortSignal,
  ): Promise<AsyncIterable<TimedPiece>> {
    const call = {
      method: "GET",
      path: `${vmPath(id)}/console`,
      headers: { accept: TIMED_CONSOLE, ...(from === undefined ? {} : { [CONSOLE_FROM]: String(from) }) },
      query: { lines, follow: String(follow) },
      // Of a log that is followed, silence means nothing.
      ...(follow ? {} : { idleMs: TRANSFER_IDLE_MS }),
    } as const;
    const answer = await this.#transport.open(call, gone);
    const body: AsyncIterable<Buffer> = answer.body;
    return answer.headers["content-type"] === TIMED_CONSOLE ? timedPieces(body) : untimedPieces(body);
  }

  /** Resolves when the policy is in force and the connections that it forbids are cut. */
  setEgress(
    vm: VmRef,
    policy: { readonly egress: HostEgress; readonly version: number },
    stop?: AbortSignal,
  ): Promise<HostEgressReport> {
    const change: EgressChange = { execution_id: vm.execution_id, ...policy };
    const call = {
      method: "PUT",
      path: `${vmPath(vm.id)}/egress`,
      json: change,
    } as const;
    return this.#transport.json(call, shapes.egress, new Deadline(CALL_DEADLINE_MS, stop));
  }

  /** The policy in force, and what it let through and refused. */
  egress(vm: VmRef, stop?: AbortSignal): Promise<HostEgressReport> {
    const call = {
      method: "GET",
      path: `${vmPath(vm.id)}/egress`,
      query: { execution_id: vm.execution_id },
    } as const;
    return this.#transport.json(call, shapes.egress, new Deadline(CALL_DEADLINE_MS, stop));
  }

  /** Resolves when the host has accepted the command. Abort `gone`, or leave the events, and the command is killed. */
  async execute(
    id: string,
    { command, input }: { readonly command: ExecuteCommand; readonly input?: Buffer | undefined },
    gone: AbortSignal,
  ): Promise<AsyncGenerator<ExecutionEvent>> {
    const deadline = new Deadline(command.timeout_ms + EXECUTE_GRACE_MS, gone);
    const call = {
      method: "POST",
      path: `${vmPath(id)}/execute`,
      ...(input === undefined ? { json: command } : commandWithInput(command, input)),
    } as const;
    try {
      const answer = await this.#transport.open(call, deadline.signal);
      return guarded(answer.body, deadline);
    } catch (error) {
      deadline[Symbol.dispose]();
      throw input === undefined ? error : orInputRefused(error);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#transport.close(), this.#lasting.close()]);
  }
}

/** Input is handed on in pieces, so that it is not copied as a whole. */
const INPUT_PIECE_BYTES = 64 * 1024;

function commandWithInput(command: ExecuteCommand, input: Buffer): Pick<Call, "headers" | "content"> {
  const line = Buffer.from(`${JSON.stringify(command)}\n`);
  return {
    headers: { "content-type": COMMAND_WITH_INPUT, "content-length": String(line.length + input.length) },
    content: (async function* () {
      yield line;
      for (let at = 0; at < input.length; at += INPUT_PIECE_BYTES) {
        yield input.subarray(at, at + INPUT_PIECE_BYTES);
      }
    })(),
  };
}

/** What control sends is never malformed: a host that says so does not know this kind of request. */
function orInputRefused(error: unknown): unknown {
  if (!(error instanceof SkerryError) || error.code !== "bad_request") return error;
  return new SkerryError(
    "stdin_not_supported",
    "The host runs a version of Skerry that passes no standard input to commands.",
    {
      remediation:
        "Upgrade the host, or upload what the command reads as a file, and redirect it: `command < file`.",
      cause: error,
    },
  );
}

function vmPath(id: string): string {
  return `/vms/${encodeURIComponent(id)}`;
}

/** The events with the deadline that began before them, and with errors of the transport translated. */
async function* guarded(body: AsyncIterable<Buffer>, deadline: Deadline): AsyncGenerator<ExecutionEvent> {
  using owned = deadline;
  try {
    yield* executionEvents(body);
  } catch (error) {
    throw hostErrorOfCall(error, owned.signal);
  }
}
