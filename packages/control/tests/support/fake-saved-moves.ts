// What a fake host knows of saved guests that go from host to host: snapshots, and sandboxes that are paused.

import type { IncomingMessage, ServerResponse } from "node:http";
import { SkerryError } from "@skerry/contract/errors";
import type {
  SavedArrivalOrder,
  SavedDepartureOrder,
  SavedManifest,
} from "@skerry/contract/host-api/saved-moves";
import type { HostSnapshot } from "@skerry/contract/host-api/snapshots";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { incompatibility, type HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import { readBody, sendJson } from "./fake-http.ts";
import { compatibility } from "./fake-moves.ts";

export type SavedStep = "manifest" | "prepare" | "send" | "whole" | "forget";

const steps: Readonly<Record<string, SavedStep>> = {
  "GET manifest": "manifest",
  "PUT arrival": "prepare",
  "PUT departure": "send",
  "GET arrival": "whole",
  "DELETE arrival": "forget",
};

interface Files {
  readonly vms: Map<string, Vm & { readonly spec: VmSpec }>;
  readonly snapshots: Map<string, HostSnapshot>;
}

/** By address: a source sends to its target itself. */
const fakes = new Map<string, FakeSavedMoves>();

export class FakeSavedMoves {
  /** Runs before the host does its part. */
  before: (step: SavedStep, id: string) => Promise<void> = async () => undefined;
  /** Runs when the host has done its part, and before anybody hears of it. */
  after: (step: SavedStep, id: string) => Promise<void> = async () => undefined;
  /** What it says of what it has where it lies. */
  lies: Partial<SavedManifest> = {};
  /** What can go on here. */
  runsHere: HostCompatibility = compatibility;
  readonly arrivals = new Map<string, SavedArrivalOrder>();
  /** The move with which each thing came. */
  readonly cameWith = new Map<string, string>();
  readonly #files: () => Files;

  constructor(files: () => Files) {
    this.#files = files;
  }

  listensAt(address: string): void {
    fakes.set(address, this);
  }

  /** Undefined: the call is not of such a move. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const url = new URL(request.url ?? "", "http://host");
    const [, room, id = "", ...rest] = url.pathname.split("/");
    const step = steps[[request.method, ...rest].join(" ")];
    if (room !== "saved" || step === undefined) return undefined;
    return this.#serve(step, id, { url, request, response });
  }

  async #serve(
    step: SavedStep,
    id: string,
    { url, request, response }: { url: URL; request: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const body = request.method === "PUT" ? await readBody<unknown>(request) : undefined;
    await this.before(step, id);
    const answer = this.#do(step, id, { body, moveId: url.searchParams.get("move_id") ?? "" });
    await this.after(step, id);
    if (answer === undefined) return void response.writeHead(204).end();
    sendJson(response, 200, answer);
  }

  /** Whether its files are here, all of them. */
  has(id: string): boolean {
    const { vms, snapshots } = this.#files();
    return vms.get(id)?.status === "paused" || snapshots.has(id);
  }

  #do(step: SavedStep, id: string, { body, moveId }: { body: unknown; moveId: string }): object | undefined {
    switch (step) {
      case "manifest":
        this.#require(id);
        return {
          ...{ vm_id: "sbx_a", template: "base", size: "shared-cpu-1x", disk_gib: 1 },
          below: { root_image: "a".repeat(64), frozen_disk: "b".repeat(64) },
          ...{ saved_at: new Date().toISOString(), runs_on: compatibility, ...this.lies },
        };
      case "prepare":
        return this.#prepare(id, body as SavedArrivalOrder);
      case "send":
        this.#require(id);
        return this.#send(id, body as SavedDepartureOrder);
      case "whole":
        if (this.cameWith.get(id) === moveId && this.has(id)) return undefined;
        throw new SkerryError("move_refused", "Nothing of this move is on this host.");
      case "forget":
        return this.#forget(id, moveId);
    }
  }

  #require(id: string): void {
    if (!this.has(id)) throw new SkerryError("vm_not_running", "nothing is saved under this id");
  }

  #prepare(id: string, order: SavedArrivalOrder): object {
    const fault = incompatibility(order.manifest.runs_on, this.runsHere);
    if (fault !== undefined) throw new SkerryError("move_refused", `It cannot go on here: ${fault}.`);
    if (this.has(id) && this.cameWith.get(id) !== order.move_id)
      throw new SkerryError("move_refused", "another one is here");
    this.arrivals.set(id, order);
    return { layers: [] };
  }

  #send(id: string, { address, ticket, move_id }: SavedDepartureOrder): object {
    const target = fakes.get(address);
    const order = target?.arrivals.get(id);
    if (target === undefined || order?.ticket !== ticket)
      throw new SkerryError("move_failed", "The target refuses it: no ticket");
    const { vms, snapshots } = this.#files();
    const there = target.#files();
    const [vm, snapshot] = [vms.get(id), snapshots.get(id)];
    if (snapshot !== undefined) there.snapshots.set(id, snapshot);
    if (vm !== undefined && order.paused !== undefined)
      there.vms.set(id, { ...vm, execution_id: order.paused.execution_id });
    target.cameWith.set(id, move_id);
    target.arrivals.delete(id);
    return { memory_bytes: 1, disk_bytes: 2 };
  }

  #forget(id: string, moveId: string): undefined {
    if (this.arrivals.get(id)?.move_id === moveId) this.arrivals.delete(id);
    if (this.cameWith.get(id) === moveId) this.#files().snapshots.delete(id);
  }
}
