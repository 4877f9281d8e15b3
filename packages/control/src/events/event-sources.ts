// What events tell of, as data: what a token must be allowed to read, and how the resources are read that have changed.

import { SkerryError } from "@skerry/contract/errors";
import {
  resourceEventKinds,
  type ResourceEvent,
  type ResourceEventKind,
} from "@skerry/contract/events/resource-event";
import type { NeededScope } from "@skerry/contract/organizations/scopes";
import type { Versioned } from "../api/versioned.ts";
import { isOfOperator, operatorOnly } from "../api/authorize.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { findApps, findDeploys } from "../apps/changed-apps.ts";
import { findBuilds } from "../builds/builds.ts";
import { findHosts } from "../hosts/hosts.ts";
import { findMachines } from "../machines/machines.ts";
import { findMoves } from "../moves/moves.ts";
import { findBackgroundServices } from "../platform/background-services.ts";
import { findSandboxes } from "../sandboxes/sandboxes.ts";
import { findSnapshots } from "../snapshots/snapshots.ts";
import { findOwnTemplates } from "../templates/own-templates.ts";

export type Resource = NonNullable<ResourceEvent["resource"]>;

interface SourceOfEvents {
  readonly kind: ResourceEventKind;
  /** That of the resource's own GET. */
  readonly scope: NeededScope;
  /** Those of these that its own GET answers. What belongs to no organization is the operator's, whose scopes count nowhere else. */
  readonly find: (context: Context, orgId: string, ids: readonly string[]) => Promise<Versioned<Resource>[]>;
}

export const eventSources = {
  sandbox: { kind: "sandbox", scope: "sandboxes:read", find: findSandboxes },
  machine: { kind: "machine", scope: "machines:read", find: findMachines },
  // Who may read of sandboxes alone is told nothing of machines.
  sandboxSnapshot: { kind: "snapshot", scope: "sandboxes:read", find: findSnapshots },
  machineSnapshot: { kind: "snapshot", scope: "machines:read", find: findSnapshots },
  template: { kind: "template", scope: "templates:read", find: findOwnTemplates },
  build: { kind: "build", scope: "templates:read", find: findBuilds },
  app: { kind: "app", scope: "apps:read", find: findApps },
  deploy: { kind: "deploy", scope: "apps:read", find: findDeploys },
  host: { kind: "host", scope: "hosts:read", find: (context, _orgId, ids) => findHosts(context, ids) },
  move: { kind: "move", scope: "hosts:read", find: (context, _orgId, ids) => findMoves(context, ids) },
  backgroundService: {
    kind: "background_service",
    scope: "metrics:read",
    find: (context, _orgId, names) => findBackgroundServices(context, names),
  },
} as const satisfies Readonly<Record<string, SourceOfEvents>>;

export type EventSource = keyof typeof eventSources;
const sourceNames = Object.keys(eventSources) as EventSource[];

/** Of the kinds that are asked for, separated by commas, or of all, what the caller may read. Throws `forbidden` where it may read nothing of a
 *  kind that is asked for, or nothing at all. */
export function readableSources({ scopes, orgId }: Caller, asked: string | undefined): EventSource[] {
  const readable = sourceNames.filter((source) => scopes.has(eventSources[source].scope));
  const kindsReadable = new Set<string>(readable.map((source) => eventSources[source].kind));
  const wanted = asked?.split(",") ?? (readable.length > 0 ? [...kindsReadable] : resourceEventKinds);
  const lacking = sourceNames.find((source) => {
    const { kind } = eventSources[source];
    return wanted.includes(kind) && !kindsReadable.has(kind);
  });
  if (lacking === undefined) return readable.filter((source) => wanted.includes(eventSources[source].kind));
  const { scope } = eventSources[lacking];
  if (isOfOperator(scope)) throw operatorOnly({ orgId }, scope);
  throw new SkerryError("forbidden", `The token does not have the scope "${scope}" in this organization.`, {
    remediation: `Use a token with the scope "${scope}", or ask for kinds that yours may read; \`GET /v1/auth/me\` shows what it has.`,
    context: { required_scope: scope, organization_id: orgId },
  });
}
