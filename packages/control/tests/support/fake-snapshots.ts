// What a fake host knows of snapshots.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { HostSnapshot, SnapshotVm } from "@skerry/contract/host-api/snapshots";
import { SkerryError } from "@skerry/contract/errors";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { readBody, sendJson } from "./fake-http.ts";
import { compatibility } from "./fake-moves.ts";

type Known = Map<string, Vm & { readonly spec: VmSpec }>;

export class FakeSnapshots {
  readonly kept = new Map<string, HostSnapshot>();
  /** Runs before the host takes one. */
  before: () => Promise<void> = async () => undefined;
  /** Runs when it has, and before the caller is told. */
  after: () => Promise<void> = async () => undefined;
  /** Runs when a VM has begun at one, and before the caller is told. */
  afterStart: () => Promise<void> = async () => undefined;
  /** What the host answers instead of taking one. */
  failure: SkerryError | undefined;
  /** Error that it answers instead of deleting one. */
  deletionFailure: SkerryError | undefined;
  /** False: as a host of the version before, which puts no VM in the place of another one. */
  replaces = true;
  /** Runs when what a VM was is given up for a snapshot, and before it begins there. */
  betweenLives: () => Promise<void> = async () => undefined;
  /** Starts from snapshots that fail after so many that went well. */
  startsLeft = Infinity;
  readonly #vms: () => Known;

  constructor(vms: () => Known) {
    this.#vms = vms;
  }

  /** Undefined: the call is not of a snapshot. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const [, room, id = "", part] = (request.url ?? "").split("?")[0]?.split("/") ?? [];
    if (request.method === "POST" && part === "snapshots") return this.#take(id, request, response);
    if (room !== "snapshots") return undefined;
    return this.#listOrDelete(id, request, response);
  }

  async #listOrDelete(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "GET") return sendJson(response, 200, { items: [...this.kept.values()] });
    if (this.deletionFailure !== undefined) throw this.deletionFailure;
    this.kept.delete(id);
    response.writeHead(204).end();
  }

  async #take(vmId: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { execution_id, snapshot_id } = await readBody<SnapshotVm>(request);
    await this.before();
    if (this.failure !== undefined) throw this.failure;
    const vm = this.#vms().get(vmId);
    if (vm === undefined) throw new SkerryError("vm_not_found", "no such VM");
    if (vm.execution_id !== execution_id) throw new SkerryError("stale_execution", "another incarnation");
    const taken = {
      id: snapshot_id,
      vm_id: vmId,
      template: vm.template,
      size: vm.size,
      memory_bytes: 3_000_000,
      disk_bytes: 2_000_000,
      created_at: new Date().toISOString(),
      runs_on: compatibility,
    };
    this.kept.set(snapshot_id, taken);
    await this.after();
    sendJson(response, 200, taken);
  }

  /** Before a VM starts; throws where it should start from a snapshot that is not there. */
  starts({ from }: VmSpec): void {
    if (from?.kind !== "snapshot") return;
    if (!this.kept.has(from.snapshot_id)) throw new SkerryError("snapshot_not_found", "no such snapshot");
    if (this.startsLeft <= 0) throw new SkerryError("guest_failed", "it does not wake");
    this.startsLeft -= 1;
  }

  async started({ from }: VmSpec): Promise<void> {
    if (from?.kind === "snapshot") await this.afterStart();
  }
}
