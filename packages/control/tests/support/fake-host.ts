// A host that speaks the host API on a unix socket and keeps its VMs in memory. Real microVMs are in the
// end-to-end tests; what is tried here is what control makes of a host, of a slow one, a lying one and a dead
// one. Each room of the host API has a file `fake-ROOM.ts` that answers its calls; this one has the state
// that tests set and read, and asks the rooms in turn.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EgressDenial } from "@skerry/contract/vms/egress";
import { SkerryError } from "@skerry/contract/errors";
import type { CertificateRequest, HostCertificate } from "@skerry/contract/joining/host-certificate";
import type { ExecuteCommand, StopVm, Vm, VmSpec } from "@skerry/contract/host-api/vm";
import type { HostUsage } from "@skerry/contract/host-api/host-info";
import type { BuiltInTemplate } from "@skerry/contract/templates/template";
import { serveCommands } from "./fake-commands.ts";
import { FakeChecks } from "./fake-checks.ts";
import { denial, serveEgress } from "./fake-egress.ts";
import { serveFiles, type StoredFile } from "./fake-files.ts";
import { FakeExecutions } from "./fake-executions.ts";
import { fakes, FakeMoves } from "./fake-moves.ts";
import { FakeSavedMoves } from "./fake-saved-moves.ts";
import { FakeTemplates } from "./fake-templates.ts";
import { FakeSnapshots } from "./fake-snapshots.ts";
import { FakeMetrics } from "./fake-metrics.ts";
import { FakePauses } from "./fake-pauses.ts";
import { serveHost } from "./fake-info.ts";
import { serveLife } from "./fake-lives.ts";
import { FakeConsole } from "./fake-console.ts";
import { FakePorts } from "./fake-ports.ts";
import { readCall, sendJson, type HostCall } from "./fake-http.ts";

type FailingCall = "files" | "start" | "stop" | "destroy" | "list" | "execute" | "write" | "egress";

export class FakeHost {
  readonly folder = mkdtempSync(join(tmpdir(), "skerry-fake-host-"));
  readonly socketPath = join(this.folder, "host.sock");
  readonly vms = new Map<string, Vm & { readonly spec: VmSpec }>();
  /** Disks of machines: the execution id that each was made for. */
  readonly disks = new Map<string, string>();
  readonly console = new FakeConsole();
  readonly executions = new FakeExecutions();
  readonly moves = new FakeMoves(() => this.vms);
  readonly templates = new FakeTemplates(() => this.vms);
  readonly snapshots = new FakeSnapshots(() => this.vms);
  readonly savedMoves = new FakeSavedMoves(() => ({ vms: this.vms, snapshots: this.snapshots.kept }));
  readonly pauses = new FakePauses(() => this.vms);
  readonly metrics = new FakeMetrics(() => this.vms);
  readonly checks = new FakeChecks();
  readonly ports = new FakePorts();
  readonly files = new Map<string, StoredFile>();
  /** Of what is in every directory. */
  fileName = "a";
  /** Of every call. */
  readonly urls: string[] = [];
  /** Calls in the order in which they came: `PUT /vms/sbx_…`. */
  readonly calls: string[] = [];
  readonly commands: ExecuteCommand[] = [];
  /** What the commands read, all but those called `deaf`. */
  readonly inputs: Buffer[] = [];
  /** False: as a host of an earlier version, which knows no such request. */
  passesInput = true;
  /** Runs before a new egress policy is in force. */
  beforeEgress: (id: string) => Promise<void> = async () => undefined;
  /** Requests whose caller went away before the answer. */
  aborted = 0;
  /** Of each VM, newest first. */
  denied: readonly EgressDenial[] = [denial];
  name = "fake";
  cpus = 2;
  memoryMib = 4096;
  template: BuiltInTemplate = {
    id: "tpl_00000000000000000000000001",
    name: "base",
    description: "x",
    disk_gib: 1,
    status: "ready",
  };
  /** VMs that have ended by themselves. */
  ended = 0;
  /** Undefined: as a host of an earlier version, which does not say. */
  usage: HostUsage | undefined;
  /** Names of calls that answer with an error, and the error. */
  readonly failures = new Map<FailingCall, SkerryError>();
  /** What the start of a VM says of where its time went. */
  startTiming = "";
  /** Runs before a command does. */
  beforeExecute: () => Promise<void> = async () => undefined;
  /** Runs before the host says what it has. */
  beforeList: () => Promise<void> = async () => undefined;
  /** Runs before a VM counts as started. */
  beforeStart: (id: string) => Promise<void> = async () => undefined;
  /** Runs before the host answers. */
  beforeDestroy: (id: string) => Promise<void> = async () => undefined;
  /** Who it is to its cluster. Undefined: as a host of an earlier version, which cannot be certified. */
  identity: { request(): CertificateRequest; install(certificate: HostCertificate): void } | undefined;
  /** Runs before a VM counts as stopped. */
  beforeStop: (id: string) => Promise<void> = async () => undefined;
  readonly stops: StopVm[] = [];
  /** Ids whose destruction never ends. */
  readonly stuck = new Set<string>();
  #server: Server | undefined;

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      this.calls.push(`${request.method} ${request.url?.split("?")[0]}`);
      response.once("close", () => {
        if (!response.writableFinished) this.aborted += 1;
      });
      this.#answer(request, response).catch((error: unknown) => {
        if (response.headersSent || !response.writable) return void response.destroy();
        const known = error instanceof SkerryError ? error : new SkerryError("internal", String(error));
        sendJson(response, known.status, known.toBody());
      });
    });
    server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
      this.calls.push(`${request.method} ${request.url?.split("?")[0]}`);
      this.ports.accept(request, socket, (id, executionId) => this.require(id, executionId));
    });
    fakes.set(`unix:${this.socketPath}`, this.moves);
    this.savedMoves.listensAt(`unix:${this.socketPath}`);
    this.templates.listensAt(`unix:${this.socketPath}`);
    server.listen(this.socketPath);
    await once(server, "listening");
    this.#server = server;
  }

  /** Nobody answers on the socket any more; VMs stay. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** What a VM that has ended by itself looks like. */
  end(id: string, reason: string | null, how: Pick<Vm, "cause" | "exit"> = {}): void {
    const vm = this.vms.get(id);
    if (vm !== undefined) this.vms.set(id, { ...vm, ...how, status: "gone", reason });
  }

  /** Throws the error that such calls are to answer with. */
  fail(call: FailingCall): void {
    const failure = this.failures.get(call);
    if (failure !== undefined) throw failure;
  }

  /** Throws where the VM does not run here, in this incarnation where one is given. */
  require(id: string, executionId?: string | null): void {
    const vm = this.vms.get(id);
    if (vm === undefined) throw new SkerryError("vm_not_found", "no such VM");
    if (vm.status !== "running") throw new SkerryError("vm_not_running", "the VM has ended");
    if (executionId !== undefined && executionId !== vm.execution_id) {
      throw new SkerryError("stale_execution", "another incarnation");
    }
  }

  /** Rooms that move VMs or hold states of them come first: some of their calls have paths like those of
   *  others. */
  #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const ofStates =
      this.savedMoves.serve(request, response) ??
      this.moves.serve(request, response) ??
      this.executions.serve(this, readCall(request, response)) ??
      this.snapshots.serve(request, response) ??
      this.templates.serve(request, response) ??
      this.pauses.serve(request, response) ??
      this.metrics.serve(request, response);
    return ofStates ?? this.#answerOthers(readCall(request, response));
  }

  async #answerOthers(call: HostCall): Promise<void> {
    this.urls.push(call.url.href);
    const answered =
      this.checks.serve(this, call) ??
      serveHost(this, call) ??
      serveLife(this, call) ??
      this.console.serve(call) ??
      serveCommands(this, call) ??
      serveEgress(this, call) ??
      this.ports.serve(this, call);
    await (answered ?? serveFiles(this, call));
  }
}
