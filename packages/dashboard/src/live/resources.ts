// The newest known state of every resource that a page has asked for: lists and single reads put it here, and so do the events. Each has a signal
// of its own, so that a change redraws one row.

import { batch, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { ResourceOfKind } from "@skerry/contract/events/resource-event";
import type { ResourceEvent, ResourceEventKind } from "@skerry/sdk";

export type ResourceOf<Kind extends ResourceEventKind> = ResourceOfKind[Kind];

/** Null: there is no such thing any more. */
type Cell<Kind extends ResourceEventKind> = Signal<ResourceOf<Kind> | null>;

/** What is not shown is forgotten beyond so many of a kind. */
const KEPT_MAX = 20_000;

export class Resources<Kind extends ResourceEventKind> {
  readonly #cells = new Map<string, Cell<Kind>>();
  readonly #listeners = new Set<(resource: ResourceOf<Kind> | null, id: string, isNew: boolean) => void>();
  readonly #idOf: (resource: ResourceOf<Kind>) => string;

  constructor(idOf: (resource: ResourceOf<Kind>) => string) {
    this.#idOf = idOf;
  }

  put(resource: ResourceOf<Kind>): ReadonlySignal<ResourceOf<Kind> | null> {
    const id = this.#idOf(resource);
    const cell = this.#cells.get(id);
    if (cell !== undefined) {
      cell.value = resource;
      return cell;
    }
    const made: Cell<Kind> = signal<ResourceOf<Kind> | null>(resource);
    this.#cells.set(id, made);
    const [oldest] = this.#cells.keys();
    if (this.#cells.size > KEPT_MAX && oldest !== undefined) this.#cells.delete(oldest);
    return made;
  }

  find(id: string): ReadonlySignal<ResourceOf<Kind> | null> | undefined {
    return this.#cells.get(id);
  }

  /** What has changed: also what no page has asked for, so that a list can say that there is something new. */
  change(id: string, resource: ResourceOf<Kind> | null): void {
    const cell = this.#cells.get(id);
    if (cell !== undefined) cell.value = resource;
    for (const listener of this.#listeners) listener(resource, id, cell === undefined);
  }

  /** Told of every event of the kind. Returns what ends that. */
  listen(listener: (resource: ResourceOf<Kind> | null, id: string, isNew: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

const byId = (resource: { readonly id: string }): string => resource.id;

export const resources = {
  sandbox: new Resources<"sandbox">(byId),
  machine: new Resources<"machine">(byId),
  snapshot: new Resources<"snapshot">(byId),
  template: new Resources<"template">(byId),
  build: new Resources<"build">(byId),
  app: new Resources<"app">(byId),
  deploy: new Resources<"deploy">(byId),
  host: new Resources<"host">(byId),
  move: new Resources<"move">(byId),
  background_service: new Resources<"background_service">(({ name }) => name),
} as const satisfies { readonly [Kind in ResourceEventKind]: Resources<Kind> };

/** Many at once are drawn once. */
export function applyChanges(changes: Iterable<ResourceEvent>): void {
  batch(() => {
    for (const { kind, id, resource } of changes) {
      // The event's kind is the kind of its resource; the compiler does not follow that through the table.
      (resources[kind] as Resources<ResourceEventKind>).change(id, resource);
    }
  });
}
