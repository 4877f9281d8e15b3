// What a fake host knows of moves: who stands still, who is whole, and who runs. A guest that would run twice fails the test.

import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { SkerryError } from "@skerry/contract/errors";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import type {
  ArrivalOrder,
  DepartureOrder,
  VmManifest,
  ResumeOrder,
} from "@skerry/contract/host-api/move-calls";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";

export const compatibility: HostCompatibility = {
  accelerator: "tcg",
  qemu_version: "7.2.0",
  cpu: "emulated",
  tsc_khz: 2_600_000,
};

export type MoveStep = "manifest" | "prepare" | "send" | "whole" | "resume" | "stay";

type Known = Map<string, Vm & { readonly spec: VmSpec }>;

const steps: Readonly<Record<string, MoveStep>> = {
  "GET manifest": "manifest",
  "PUT arrival": "prepare",
  "PUT departure": "send",
  "GET arrival": "whole",
  "POST arrival resume": "resume",
  "DELETE departure": "stay",
};

/** By address: a source sends to its target itself. */
export const fakes = new Map<string, FakeMoves>();

interface Call {
  readonly id: string;
  readonly url: URL;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class FakeMoves {
  /** Runs when the host has done its part, and before anybody hears of it. */
  after: (step: MoveStep, id: string) => Promise<void> = async () => undefined;
  /** Runs before the host does its part. */
  before: (step: MoveStep, id: string) => Promise<void> = async () => undefined;
  /** VMs that stand still here, because they have been sent. */
  readonly still = new Set<string>();
  readonly arrivals = new Map<string, ArrivalOrder & { whole: boolean }>();
  readonly policies: ResumeOrder[] = [];
  /** What it says of its VMs where it lies. */
  lies: Partial<VmManifest> = {};
  readonly #vms: () => Known;

  constructor(vms: () => Known) {
    this.#vms = vms;
  }

  /** Undefined: the call is not of a move. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const url = new URL(request.url ?? "", "http://host");
    const [, , id = "", ...rest] = url.pathname.split("/");
    const step = steps[[request.method, ...rest].join(" ")];
    return step === undefined ? undefined : this.#serve(step, { id, url, request, response });
  }

  async #serve(step: MoveStep, { id, url, request, response }: Call): Promise<void> {
    const hasBody = request.method === "PUT" || request.method === "POST";
    const body: unknown = hasBody ? await json(request) : undefined;
    await this.before(step, id);
    const answer = this.#do(step, id, body, url.searchParams.get("execution_id") ?? "");
    await this.after(step, id);
    if (answer === undefined) return void response.writeHead(204).end();
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  }

  /** Whether this VM's guest executes anything here. */
  runs(id: string): boolean {
    return this.#vms().get(id)?.status === "running" && !this.still.has(id);
  }

  #do(step: MoveStep, id: string, body: unknown, executionId: string): unknown {
    switch (step) {
      case "manifest":
        this.#running(id, executionId);
        return {
          ...{ template: "base", size: "shared-cpu-1x", compatibility, disk_gib: 1 },
          below: { root_image: "a".repeat(64), frozen_disk: "b".repeat(64) },
          ...this.lies,
        };
      case "prepare":
        return this.#prepare(id, body as ArrivalOrder);
      case "send":
        return this.#send(id, body as DepartureOrder);
      case "whole":
        if (this.arrivals.get(id)?.whole === true || this.#vms().get(id)?.status === "running")
          return undefined;
        throw new SkerryError("vm_not_found", "it has not arrived");
      case "resume":
        return this.#resume(id, body as ResumeOrder);
      case "stay":
        this.still.delete(id);
        return undefined;
    }
  }

  #running(id: string, executionId: string): Vm {
    const vm = this.#vms().get(id);
    if (vm?.status !== "running" || vm.execution_id !== executionId)
      throw new SkerryError("vm_not_running", "it does not run here");
    return vm;
  }

  #prepare(id: string, order: ArrivalOrder): unknown {
    if (this.arrivals.get(id)?.execution_id !== order.execution_id) {
      if (this.#vms().has(id)) throw new SkerryError("stale_execution", "another one is here");
      this.arrivals.set(id, { ...order, whole: false });
      const { execution_id, egress, egress_version } = order;
      const spec = { execution_id, template: "base", size: "shared-cpu-1x", hostname: id, env: {} };
      this.#vms().set(id, {
        ...{ id, execution_id, template: "base", size: "shared-cpu-1x" },
        ...{ status: "creating", reason: null, started_at: new Date().toISOString() },
        spec: { ...spec, egress, egress_version },
      });
    }
    return { layers: [] };
  }

  #send(id: string, order: DepartureOrder): unknown {
    this.#running(id, order.execution_id);
    const arrival = fakes.get(order.address)?.arrivals.get(id);
    if (arrival?.ticket !== order.ticket)
      throw new SkerryError("move_failed", "The target refuses it: no ticket");
    this.still.add(id);
    arrival.whole = true;
    return { still_ms: 1, disk_bytes: 2, memory_bytes: 3 };
  }

  #resume(id: string, order: ResumeOrder): unknown {
    const vm = this.#vms().get(id);
    if (vm?.execution_id !== order.execution_id) throw new SkerryError("vm_not_found", "it is not here");
    if (vm.status !== "running" && this.arrivals.get(id)?.whole !== true)
      throw new SkerryError("move_refused", "Not all of the VM is here yet.");
    this.policies.push(order);
    this.#vms().set(id, { ...vm, status: "running" });
    this.arrivals.delete(id);
    const { spec: _spec, ...shown } = vm;
    return { ...shown, status: "running" };
  }

  /** The VM is destroyed here. */
  forget(id: string): void {
    this.still.delete(id);
    this.arrivals.delete(id);
  }
}
