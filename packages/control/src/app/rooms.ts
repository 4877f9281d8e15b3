// All rooms that have a `room.ts`, in the order of their floors.

import { auditRoom } from "../audit/room.ts";
import { buildsRoom } from "../builds/room.ts";
import { e2bRoom } from "../e2b/room.ts";
import { executionsRoom } from "../vms/executions/room.ts";
import { idempotencyRoom } from "../idempotency/room.ts";
import { joiningRoom } from "../joining/room.ts";
import { limitsRoom } from "../limits/room.ts";
import { loginsRoom } from "../logins/room.ts";
import { machinesRoom } from "../machines/room.ts";
import { movesRoom } from "../moves/room.ts";
import { organizationsRoom } from "../organizations/room.ts";
import { rateLimitsRoom } from "../rate-limits/room.ts";
import { registriesRoom } from "../registries/room.ts";
import { sandboxesRoom } from "../sandboxes/room.ts";
import { snapshotsRoom } from "../snapshots/room.ts";
import { templatesRoom } from "../templates/room.ts";
import { usageRoom } from "../usage/room.ts";
import { vmEventsRoom } from "../vms/events/room.ts";
import { vmsRoom } from "../vms/room.ts";
import type { Room } from "../room.ts";

export const rooms: readonly Room[] = [
  rateLimitsRoom,
  auditRoom,
  idempotencyRoom,
  limitsRoom,
  organizationsRoom,
  loginsRoom,
  templatesRoom,
  joiningRoom,
  registriesRoom,
  movesRoom,
  vmsRoom,
  vmEventsRoom,
  executionsRoom,
  snapshotsRoom,
  sandboxesRoom,
  machinesRoom,
  buildsRoom,
  usageRoom,
  e2bRoom,
];
