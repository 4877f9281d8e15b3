// What has changed in an organization, as `GET /v1/events` tells it. (The log of one VM's life is something else: `vms/events.ts`.) No schema library in
// here: a schema could not say that the kind decides what the resource is, and clients should know.

import type { App } from "../apps/app.ts";
import type { Deploy } from "../apps/deploy.ts";
import type { Build } from "../builds/build.ts";
import type { Host } from "../hosts/host.ts";
import type { Machine } from "../machines/machine.ts";
import type { Move } from "../moves/move.ts";
import type { BackgroundService } from "../platform/background-service.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { Snapshot } from "../snapshots/snapshot.ts";
import type { Template } from "../templates/template.ts";

/** What each kind of event is about, as its own GET answers it. */
export interface ResourceOfKind {
  readonly sandbox: Sandbox;
  readonly machine: Machine;
  readonly snapshot: Snapshot;
  readonly template: Template;
  readonly build: Build;
  readonly app: App;
  readonly deploy: Deploy;
  readonly host: Host;
  readonly move: Move;
  readonly background_service: BackgroundService;
}

export type ResourceEventKind = keyof ResourceOfKind;
export const resourceEventKinds: readonly ResourceEventKind[] = [
  "sandbox",
  "machine",
  "snapshot",
  "template",
  "build",
  "app",
  "deploy",
  "host",
  "move",
  "background_service",
];

export type ResourceEvent = {
  readonly [Kind in ResourceEventKind]: {
    readonly kind: Kind;
    /** Of the resource; the name of a background service. */
    readonly id: string;
    /** Of the resource: it grows with each change of its state. One that is lower than what is known already is old. */
    readonly version: number;
    /** Its newest state. Null: its own GET answers 404 now. */
    readonly resource: ResourceOfKind[Kind] | null;
  };
}[ResourceEventKind];

/** Why a cursor cannot be gone on from. */
export const eventResets = ["too_old", "other_database"] as const;

export interface ResourceEventPage {
  /** In the order of the changes; each resource at most once. */
  readonly items: readonly ResourceEvent[];
  /** What to ask for next, as `after`. */
  readonly cursor: string;
  /** There are more by now. */
  readonly more: boolean;
  /** Not null: `after` cannot be gone on from. List what is shown anew, then go on from `cursor`. */
  readonly reset: (typeof eventResets)[number] | null;
}
