// A host that speaks the host API on a unix socket and keeps its VMs in memory. Real microVMs are in the end-to-end tests; what is
// tried here is what control makes of a host, of a slow one, a lying one and a dead one.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EgressDenial, HostEgressReport } from "@skerry/contract/vms/egress";
import { SkerryError } from "@skerry/contract/errors";
import type { CertificateRequest, HostCertificate } from "@skerry/contract/joining/host-certificate";
import type { EgressChange, ExecuteCommand, StopVm, Vm, VmSpec } from "@skerry/contract/host-api/vm";
import type { HostUsage } from "@skerry/contract/host-api/host-info";
import type { BuiltInTemplate } from "@skerry/contract/templates/template";
import { playCommand, playDigests } from "./fake-commands.ts";
import { serveFiles, type StoredFile } from "./fake-files.ts";
import { FakeExecutions } from "./fake-executions.ts";
import { fakes, FakeMoves } from "./fake-moves.ts";
import { FakeSavedMoves } from "./fake-saved-moves.ts";
import { FakeTemplates } from "./fake-templates.ts";
import { FakeSnapshots } from "./fake-snapshots.ts";
import { FakeMetrics } from "./fake-metrics.ts";
import { FakePauses } from "./fake-pauses.ts";
import { infoOf } from "./fake-info.ts";
import { takePlace } from "./fake-lives.ts";
import { FakeConsole } from "./fake-console.ts";
import { FakePorts } from "./fake-ports.ts";
import { readBody, readCommand, sendJson } from "./fake-http.ts";

/** Calls whose body names the incarnation. */
const NAMED_IN_BODY: ReadonlySet<string> = new Set(["POST execute", "PUT egress", "PATCH entry"]);

type FailingCall = "files" | "start" | "stop" | "destroy" | "list" | "execute" | "write" | "egress";

export const denial: EgressDenial = {
  address: "203.0.113.9",
  port: 25,
  protocol: "tcp",
  rule: "deny_all",
  count: 3,
  last_at: "2026-01-01T00:00:00.000Z",
};

type CallInVm = Record<"id", string> & Record<"request", IncomingMessage> & Answering;
type Answering = Record<"response", ServerResponse> & Record<"url", URL>;

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
      const answered =
        this.savedMoves.serve(request, response) ??
        this.moves.serve(request, response) ??
        this.#ofExecutions(request, response) ??
        this.snapshots.serve(request, response) ??
        this.templates.serve(request, response) ??
        this.pauses.serve(request, response) ??
        this.metrics.serve(request, response) ??
        this.#answer(request, response);
      answered.catch((error: unknown) => {
        if (response.headersSent || !response.writable) return void response.destroy();
        const known = error instanceof SkerryError ? error : new SkerryError("internal", String(error));
        sendJson(response, known.status, known.toBody());
      });
    });
    server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
      this.calls.push(`${request.method} ${request.url?.split("?")[0]}`);
      this.ports.accept(request, socket, (id, executionId) => this.#require(id, executionId));
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

  async #ofHost(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (path === "/info") return sendJson(response, 200, infoOf(this, this.savedMoves.runsHere));
    if (path === "/cache/sweep") return sendJson(response, 200, { removed: 3 });
    if (this.identity === undefined) throw new SkerryError("not_found", "There is nothing at this path.");
    if (request.method === "POST") return sendJson(response, 200, this.identity.request());
    this.identity.install(await readBody<HostCertificate>(request));
    response.writeHead(204).end();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", "http://host");
    this.urls.push(url.href);
    if (!url.pathname.startsWith("/vms")) return this.#ofHost(url.pathname, request, response);
    const [, , id = "", part] = url.pathname.split("/");
    const method = `${request.method} ${part ?? (id === "" ? "/vms" : "vm")}`;
    const executionId = url.searchParams.get("execution_id");
    switch (method) {
      case "GET /vms":
        this.#fail("list");
        await this.beforeList();
        return sendJson(response, 200, { items: [...this.vms.values()].map(publicPart) });
      case "PUT vm":
        response.setHeader("server-timing", this.startTiming);
        return sendJson(response, 200, await this.#startVm(id, await readBody<VmSpec>(request)));
      case "DELETE vm":
        await this.#destroyVm(id, String(executionId));
        return void response.writeHead(204).end();
      case "POST stop":
        return this.#stopVm(id, await readBody<StopVm>(request), response);
      case "GET console":
        return this.console.send(id, url.searchParams, response);
      default:
        this.#require(id, NAMED_IN_BODY.has(method) ? undefined : executionId);
        return this.#inVm(method, { id, request, response, url });
    }
  }

  /** Undefined where the call is not about executions. */
  #ofExecutions(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const url = new URL(request.url ?? "", "http://host");
    const [, , id = "", part] = url.pathname.split("/");
    return part === "executions" ? this.#answerExecutions(id, url, { request, response }) : undefined;
  }

  async #answerExecutions(
    id: string,
    url: URL,
    { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  ): Promise<void> {
    this.#require(id, url.searchParams.get("execution_id") ?? undefined);
    await this.executions.serve(request, response, {
      url,
      started: async ({ execution_id, command, workdir, env, timeout_ms }) => {
        this.#require(id, execution_id);
        this.commands.push({ execution_id, command, workdir, env, timeout_ms, output_limit: 0 });
        await this.beforeExecute();
        this.#fail("execute");
      },
    });
  }

  async #inVm(method: string, { id, request, response, url }: CallInVm): Promise<void> {
    switch (method) {
      case "POST execute":
        return this.#execute(await readCommand(request, this.passesInput), { request, response });
      case "PUT egress":
        return sendJson(response, 200, await this.#setEgress(id, await readBody<EgressChange>(request)));
      case "GET egress":
        this.#fail("egress");
        return sendJson(response, 200, this.#report(id));
      case "GET ports":
        return sendJson(response, 200, { items: this.ports.listening, truncated: false });
      default:
        this.#fail(method === "PUT file" ? "write" : "files");
        return serveFiles(this.files, method, { request, response, url, fileName: this.fileName });
    }
  }

  async #setEgress(id: string, change: EgressChange): Promise<HostEgressReport> {
    this.#require(id, change.execution_id);
    await this.beforeEgress(id);
    this.#fail("egress");
    const vm = this.vms.get(id);
    if (vm !== undefined && change.version > vm.spec.egress_version) {
      const { egress, version } = change;
      this.vms.set(id, { ...vm, spec: { ...vm.spec, egress, egress_version: version } });
    }
    return this.#report(id);
  }

  #report(id: string): HostEgressReport {
    const vm = this.vms.get(id);
    if (vm === undefined) throw new SkerryError("vm_not_found", "no such VM");
    const { private_cidrs: _, ...policy } = vm.spec.egress;
    return {
      ...policy,
      counters: { bytes_out: 1, packets_out: 2, bytes_in: 3, packets_in: 4 },
      denied: [...this.denied],
    };
  }

  async #startVm(id: string, spec: VmSpec): Promise<Vm> {
    await this.beforeStart(id);
    this.#fail("start");
    await this.pauses.resume(id, spec);
    this.snapshots.starts(spec);
    this.templates.starts(spec);
    await takePlace(this, id, spec);
    if (spec.machine?.disk === "kept" && !this.disks.has(id)) throw new SkerryError("disk_gone", "no disk");
    if (spec.machine?.disk === "new") this.disks.set(id, spec.execution_id);
    const vm = {
      id,
      execution_id: spec.execution_id,
      template: spec.template,
      size: spec.size,
      status: "running" as const,
      reason: null,
      started_at: new Date().toISOString(),
    };
    this.vms.set(id, { ...vm, spec });
    await this.pauses.resumed(id, spec);
    await this.snapshots.started(spec);
    return vm;
  }

  async #destroyVm(id: string, executionId: string): Promise<void> {
    await this.beforeDestroy(id);
    this.#fail("destroy");
    if (this.stuck.has(id)) throw new SkerryError("internal", "device busy");
    if (this.vms.get(id)?.execution_id !== executionId) return;
    this.vms.delete(id);
    this.moves.forget(id);
    this.disks.delete(id);
    this.console.end(id);
  }

  async #stopVm(id: string, order: StopVm, response: ServerResponse): Promise<void> {
    this.stops.push(order);
    await this.beforeStop(id);
    this.#fail("stop");
    const vm = this.vms.get(id);
    if (vm === undefined) throw new SkerryError("vm_not_found", "no such VM");
    if (vm.execution_id !== order.execution_id) {
      throw new SkerryError("stale_execution", "another incarnation");
    }
    const exit = { exit_code: 143, signal: 15, oom_killed: false };
    if (vm.status === "running") this.vms.set(id, { ...vm, status: "stopped", exit });
    sendJson(response, 200, publicPart(this.vms.get(id) ?? vm));
  }

  #fail(call: FailingCall): void {
    const failure = this.failures.get(call);
    if (failure !== undefined) throw failure;
  }

  #require(id: string, executionId: string | null | undefined): void {
    const vm = this.vms.get(id);
    if (vm === undefined) throw new SkerryError("vm_not_found", "no such VM");
    if (vm.status !== "running") throw new SkerryError("vm_not_running", "the VM has ended");
    if (executionId !== undefined && executionId !== vm.execution_id) {
      throw new SkerryError("stale_execution", "another incarnation");
    }
  }

  async #execute(
    command: ExecuteCommand,
    { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  ): Promise<void> {
    this.commands.push(command);
    await this.beforeExecute();
    this.#fail("execute");
    // It ends without having read anything.
    if (command.command !== "deaf") this.inputs.push(await buffer(request));
    if (command.env["DIGEST_PATHS"] !== undefined) return playDigests(command.env, response);
    await playCommand(command.command, response);
  }
}

function publicPart({ spec: _spec, ...vm }: Vm & { readonly spec: VmSpec }): Vm {
  return vm;
}
