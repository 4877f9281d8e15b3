// The calls by which a saved guest goes to another host; contract/src/host-api/saved-moves.ts describes them. What takes as long as there is to send
// has a deadline against hanging only: the hosts know better when nothing moves any more.

import { Compile } from "typebox/compile";
import { ArrivalNeeds } from "@skerry/contract/host-api/move-calls";
import {
  SavedDeparted,
  SavedManifest,
  type SavedArrivalOrder,
  type SavedDepartureOrder,
} from "@skerry/contract/host-api/saved-moves";
import { Deadline } from "./deadline.ts";
import type { HostTransport } from "./host-transport.ts";

/** Reading what a disk stands on takes a while, the first time. */
const PREPARE_DEADLINE_MS = 120_000;
const SEND_DEADLINE_MS = 60 * 60_000;

const shapes = {
  manifest: Compile(SavedManifest),
  needs: Compile(ArrivalNeeds),
  departed: Compile(SavedDeparted),
};

export class SavedMoveCalls {
  readonly #transport: HostTransport;

  constructor(transport: HostTransport) {
    this.#transport = transport;
  }

  /** What it needs wherever it goes on. */
  manifest(id: string, stop: AbortSignal): Promise<SavedManifest> {
    const call = { method: "GET", path: `/saved/${id}/manifest` } as const;
    return this.#transport.json(call, shapes.manifest, new Deadline(PREPARE_DEADLINE_MS, stop));
  }

  /** The target takes its files from here on. */
  prepare(id: string, order: SavedArrivalOrder, stop: AbortSignal): Promise<ArrivalNeeds> {
    const call = { method: "PUT", path: `/saved/${id}/arrival`, json: order } as const;
    return this.#transport.json(call, shapes.needs, new Deadline(PREPARE_DEADLINE_MS, stop));
  }

  /** Resolves when the source has sent everything, and keeps it. */
  send(id: string, order: SavedDepartureOrder, stop: AbortSignal): Promise<SavedDeparted> {
    const call = { method: "PUT", path: `/saved/${id}/departure`, json: order } as const;
    return this.#transport.json(call, shapes.departed, new Deadline(SEND_DEADLINE_MS, stop));
  }

  /** Resolves when the target has everything. */
  whole(id: string, moveId: string, stop: AbortSignal): Promise<void> {
    const call = { method: "GET", path: `/saved/${id}/arrival`, query: { move_id: moveId } } as const;
    return this.#transport.done(call, new Deadline(PREPARE_DEADLINE_MS, stop));
  }

  /** Resolves when the target has nothing of this move. */
  forget(id: string, moveId: string, stop: AbortSignal): Promise<void> {
    const call = { method: "DELETE", path: `/saved/${id}/arrival`, query: { move_id: moveId } } as const;
    return this.#transport.done(call, new Deadline(PREPARE_DEADLINE_MS, stop));
  }
}
