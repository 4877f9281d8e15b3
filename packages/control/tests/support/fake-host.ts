// A host that speaks the host API on a unix socket and keeps its VMs in memory. Real microVMs are in the
// end-to-end tests; what is tried here is what control makes of a host, of a slow one, a lying one and a dead
// one. Each room of the host API has a file `fake-ROOM.ts` that answers its calls from the state that tests set and
// read (`fake-host-state.ts`); this one asks the rooms in turn.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import { serveCommands } from "./fake-commands.ts";
import { FakeChecks } from "./fake-checks.ts";
import { FakeEdge } from "./fake-edge.ts";
import { serveEgress } from "./fake-egress.ts";
import { serveFiles } from "./fake-files.ts";
import { FakeExecutions } from "./fake-executions.ts";
import { FakeHostState } from "./fake-host-state.ts";
import { fakes } from "./fake-moves.ts";
import { serveHost } from "./fake-info.ts";
import { serveLife } from "./fake-lives.ts";
import { FakePorts } from "./fake-ports.ts";
import { readCall, sendJson, type HostCall } from "./fake-http.ts";

export class FakeHost extends FakeHostState {
  readonly folder = mkdtempSync(join(tmpdir(), "skerry-fake-host-"));
  readonly socketPath = join(this.folder, "host.sock");
  /** Of every call. */
  readonly urls: string[] = [];
  /** Calls in the order in which they came: `PUT /vms/sbx_…`. */
  readonly calls: string[] = [];
  /** Requests whose caller went away before the answer. */
  aborted = 0;
  readonly executions = new FakeExecutions();
  readonly checks = new FakeChecks();
  readonly edge = new FakeEdge();
  readonly ports = new FakePorts();
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
      this.edge.serve(call) ??
      this.console.serve(call) ??
      serveHost(this, call) ??
      serveLife(this, call) ??
      serveCommands(this, call) ??
      serveEgress(this, call) ??
      this.ports.serve(this, call);
    await (answered ?? serveFiles(this, call));
  }
}
