// What a fake host knows of pauses: who has nothing but files, and who goes on from them. A guest that would run twice, or run on while it is paused, fails the
// test.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { PauseVm } from "@skerry/contract/host-api/snapshots";
import { SkerryError } from "@skerry/contract/errors";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { readBody, sendJson } from "./fake-http.ts";

type Known = Map<string, Vm & { readonly spec: VmSpec }>;

type PauseStep = "pause" | "resume";

export class FakePauses {
  /** Runs before the host does its part. */
  before: (step: PauseStep, id: string) => Promise<void> = async () => undefined;
  /** Runs when the host has done its part, and before the caller is told. */
  after: (step: PauseStep, id: string) => Promise<void> = async () => undefined;
  /** What the host answers instead of doing its part. */
  readonly failures = new Map<PauseStep, SkerryError>();
  /** Since when nothing uses a VM, in milliseconds. Undefined: as a host of an earlier version, which does not tell. */
  unusedMs: Map<string, number> | undefined = new Map();
  /** No guest writes its disk out. */
  refusesSync = false;
  /** Of each VM that was paused, whether its guest wrote its disk out first. */
  readonly synced = new Map<string, boolean>();
  readonly #vms: () => Known;

  constructor(vms: () => Known) {
    this.#vms = vms;
  }

  /** Undefined: the call is not of a pause. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const [, first, id = "", part] = (request.url ?? "").split("?")[0]?.split("/") ?? [];
    if (first === "unused-vms") return this.#tellUnused(response);
    if (request.method !== "POST" || part !== "pause") return undefined;
    return this.#pause(id, request, response);
  }

  async #tellUnused(response: ServerResponse): Promise<void> {
    if (this.unusedMs === undefined) throw new SkerryError("not_found", "There is nothing at this path.");
    const items = [...this.unusedMs].flatMap(([id, unused_ms]) => {
      const vm = this.#vms().get(id);
      return vm?.status === "running" ? [{ id, execution_id: vm.execution_id, unused_ms }] : [];
    });
    sendJson(response, 200, { items });
  }

  async #pause(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { execution_id, unused_ms = 0, sync = false } = await readBody<PauseVm>(request);
    await this.#fail("pause", id);
    if (sync && this.refusesSync) throw new SkerryError("guest_failed", "It did not write its disk out.");
    if (unused_ms > (this.unusedMs?.get(id) ?? 0)) throw new SkerryError("vm_in_use", "It is in use.");
    const vm = this.#vms().get(id);
    if (vm === undefined) throw new SkerryError("vm_not_found", "no such VM");
    if (vm.execution_id !== execution_id) throw new SkerryError("stale_execution", "another incarnation");
    if (vm.status !== "running" && vm.status !== "paused")
      throw new SkerryError("vm_not_running", "the VM has ended");
    const { spec, ...shown } = { ...vm, status: "paused" as const };
    this.#vms().set(id, { ...shown, spec });
    this.synced.set(id, sync);
    await this.after("pause", id);
    sendJson(response, 200, shown);
  }

  /** Before a VM starts; throws where it should start from what is paused, and nothing is. */
  async resume(id: string, { execution_id, from }: VmSpec): Promise<void> {
    if (from?.kind !== "paused") return;
    await this.#fail("resume", id);
    const vm = this.#vms().get(id);
    if (vm?.status === "running" && vm.execution_id === execution_id) return;
    if (vm?.status !== "paused") throw new SkerryError("vm_not_found", "nothing is paused here");
  }

  async resumed(id: string, { from }: VmSpec): Promise<void> {
    if (from?.kind === "paused") await this.after("resume", id);
  }

  async #fail(step: PauseStep, id: string): Promise<void> {
    await this.before(step, id);
    const failure = this.failures.get(step);
    if (failure !== undefined) throw failure;
  }
}
