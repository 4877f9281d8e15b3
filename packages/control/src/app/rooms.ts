// All rooms that have a `room.ts`, in the order of their floors. A new room is a line here.

import { appsRoom } from "../apps/room.ts";
import { auditRoom } from "../audit/room.ts";
import { buildsRoom } from "../builds/room.ts";
import { capacityRoom } from "../capacity/room.ts";
import { clientsRoom } from "../clients/room.ts";
import { docsRoom } from "../docs/room.ts";
import { e2bRoom } from "../e2b/room.ts";
import { eventsRoom } from "../events/room.ts";
import { hostsRoom } from "../hosts/room.ts";
import { idempotencyRoom } from "../idempotency/room.ts";
import { joiningRoom } from "../joining/room.ts";
import { limitsRoom } from "../limits/room.ts";
import { loginsRoom } from "../logins/room.ts";
import { machinesRoom } from "../machines/room.ts";
import { movesRoom } from "../moves/room.ts";
import { objectStoreRoom } from "../object-store/room.ts";
import { organizationsRoom } from "../organizations/room.ts";
import { platformRoom } from "../platform/room.ts";
import { rateLimitsRoom } from "../rate-limits/room.ts";
import { registriesRoom } from "../registries/room.ts";
import { secretsRoom } from "../secrets/room.ts";
import { sandboxesRoom } from "../sandboxes/room.ts";
import { snapshotsRoom } from "../snapshots/room.ts";
import { templatesRoom } from "../templates/room.ts";
import { usageRoom } from "../usage/room.ts";
import { vmsRoom } from "../vms/room.ts";
import { vmEventsRoom } from "../vms/events/room.ts";
import { executionsRoom } from "../vms/executions/room.ts";
import { webRoom } from "../web/room.ts";
import type { Manifest } from "../manifest.ts";

const manifests = [
  rateLimitsRoom,
  auditRoom,
  idempotencyRoom,
  limitsRoom,
  organizationsRoom,
  hostsRoom,
  loginsRoom,
  objectStoreRoom,
  templatesRoom,
  joiningRoom,
  registriesRoom,
  secretsRoom,
  capacityRoom,
  movesRoom,
  vmsRoom,
  vmEventsRoom,
  executionsRoom,
  snapshotsRoom,
  sandboxesRoom,
  machinesRoom,
  buildsRoom,
  appsRoom,
  clientsRoom,
  docsRoom,
  platformRoom,
  usageRoom,
  webRoom,
  e2bRoom,
  eventsRoom,
] satisfies readonly Manifest[];

/** Manifests with their own types, from which the ids of all operations follow. */
export type ListedManifest = (typeof manifests)[number];

export const rooms: readonly Manifest[] = manifests;

export const declaredServices = rooms.flatMap(({ services = [] }) => services);
