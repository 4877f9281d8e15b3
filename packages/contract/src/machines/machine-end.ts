// How a machine has ended without being asked to, and when it ran again.

import { Type, type Static } from "typebox";
import { exampleIds } from "../example-ids.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { named } from "../named.ts";
import { pageOf } from "../page.ts";
import { vmCauses } from "../vms/vm-causes.ts";

/** Of one machine. */
export const RESTARTS_KEPT = 100;
export const RESTARTS_KEPT_DAYS = 90;

export const machineEndCauses = [
  ...vmCauses,
  /** Its host has it no more, and does not know why. */
  "lost",
  /** Its host was silent for too long. */
  "host_lost",
  /** Its host did not start it. */
  "start_failed",
  "disk_gone",
  /** Its health check failed, and said to restart it. */
  "check_failed",
  "stopped",
  "unknown",
] as const;
export type MachineEndCause = (typeof machineEndCauses)[number];

export const MachineEnd = named(
  "MachineEnd",
  {
    id: Type.String(),
    ended_at: Timestamp,
    cause: OneOf(machineEndCauses, {
      description:
        "`main_exited`: its main process ended. `start_failed`: its host could not start it. `host_lost`: its host was silent. `lost`: its host does not have it any more. `check_failed`: its health check failed, and it was stopped to be started again. `stopped`: its host stopped it.",
    }),
    exit_code: Nullable(
      Type.Integer({
        description: "Of its main process, or 128 + the signal's number; null where it is not known.",
      }),
    ),
    signal: Nullable(
      Type.String({ description: "The signal that ended its main process, for example `SIGKILL`." }),
    ),
    out_of_memory: Type.Boolean({ description: "Its main process was killed for want of memory." }),
    reason: Type.String({ description: "The same in words, and whether it is given up." }),
    restarted_at: Nullable({
      ...Timestamp,
      description: "When it ran again, by its policy or by request; null where it has not.",
    }),
  },
  {
    id: exampleIds.event,
    ended_at: "2026-11-20T18:03:09.021Z",
    cause: "main_exited",
    exit_code: 137,
    signal: "SIGKILL",
    out_of_memory: false,
    reason: "the main process exited with 137",
    restarted_at: "2026-11-20T18:03:11.707Z",
  },
);
export type MachineEnd = Static<typeof MachineEnd>;

export const MachineEndList = pageOf(MachineEnd, "MachineEndList");
export type MachineEndList = Static<typeof MachineEndList>;
