// The machine as `/v1` shows it: a microVM that is meant to keep running.

import { Type, type Static } from "typebox";
import {
  Duration,
  Env,
  EnvChange,
  Metadata,
  MetadataChange,
  Nullable,
  OneOf,
  ShownEnv,
  Timestamp,
} from "../fields.ts";
import { exampleOf, named } from "../named.ts";
import { countedPageOf, PageQuery } from "../page.ts";
import { WaitsFor } from "../waits-for.ts";
import { exampleIds } from "../example-ids.ts";
import { formatDuration } from "../durations.ts";
import { Egress, EgressRequest } from "../vms/egress.ts";
import { vmListFilters } from "../vms/list-filters.ts";
import { NewVmName } from "../vms/name.ts";
import { shownOwner } from "../vms/owner.ts";
import { secretsRequest, shownSecrets } from "../vms/secrets.ts";
import { COMMAND_MAX_CHARS, STOP_TIMEOUT_DEFAULT_MS, TEMPLATE_REFERENCE_MAX_CHARS } from "../bounds.ts";
import { checkRequest, checkShown, healthShown } from "../checks/health-check.ts";
import {
  autostart,
  autostopFields,
  restartChange,
  restartRequest,
  restartShown,
  stopTimeout,
} from "./machine-fields.ts";
import {
  CRASH_LOOP_RESTARTS,
  machineStatuses,
  machineDesiredStates,
  type MachineDesired,
} from "./machine-status.ts";
import { DEFAULT_SIZE } from "../sizes.ts";

const closed = { additionalProperties: false } as const;

const Status = OneOf(machineStatuses);
const Desired = OneOf(machineDesiredStates);
export const MachineCreateRequest = named(
  "MachineCreateRequest",
  {
    template: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: TEMPLATE_REFERENCE_MAX_CHARS,
        description:
          "Template name or id, such as `base`; `GET /v1/templates` lists them. Either this or `snapshot` is needed.",
      }),
    ),
    snapshot: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description:
          "Id or name of a snapshot of a machine to begin at, in the place of a template. Template, size and disk are those of the snapshot, and so is the main process, which goes on, where there was one.",
      }),
    ),
    name: Type.Optional(NewVmName),
    size: Type.Optional(
      Type.String({ maxLength: 100, default: DEFAULT_SIZE, description: "A name from `GET /v1/sizes`." }),
    ),
    env: Type.Optional(Env),
    secrets: Type.Optional(secretsRequest),
    metadata: Type.Optional(Metadata),
    egress: Type.Optional(EgressRequest),
    command: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: COMMAND_MAX_CHARS,
        description:
          "Shell command line of the main process, run by `/bin/sh -c` as root at each start. Its output goes to the console log, and its end is the machine's. Default: none; the machine runs until it is stopped.",
        examples: ["python3 /srv/worker.py"],
      }),
    ),
    restart: Type.Optional(restartRequest),
    stop_timeout: Type.Optional(
      Type.String({ ...stopTimeout, default: formatDuration(STOP_TIMEOUT_DEFAULT_MS) }),
    ),
    check: Type.Optional(checkRequest),
    autostop: Type.Optional(Nullable(autostopFields)),
    autostart: Type.Optional(Type.Boolean({ ...autostart, default: false })),
  },
  {
    template: "base",
    name: "worker",
    command: "python3 /srv/worker.py",
    env: { QUEUE: "mail" },
    metadata: { service: "mail" },
    restart: { policy: "always" },
    check: { path: "/health", port: 8080 },
  },
);
export type MachineCreateRequest = Static<typeof MachineCreateRequest>;

export const MachineUpdateRequest = named(
  "MachineUpdateRequest",
  {
    name: Type.Optional(Nullable(NewVmName)),
    metadata: Type.Optional(MetadataChange),
    env: Type.Optional(EnvChange),
    command: Type.Optional(
      Nullable(Type.String({ minLength: 1, maxLength: COMMAND_MAX_CHARS }), {
        description:
          "Shell command line of the main process. Null: none, and the machine runs until it is stopped.",
      }),
    ),
    size: Type.Optional(Type.String({ maxLength: 100, description: "A name from `GET /v1/sizes`." })),
    restart: Type.Optional(restartChange),
    stop_timeout: Type.Optional(Type.String(stopTimeout)),
    check: Type.Optional(
      Nullable(checkRequest, { description: "Takes the place of the whole check. Null removes it." }),
    ),
    autostop: Type.Optional(Nullable(autostopFields, { description: "Null: it is not stopped by itself." })),
    autostart: Type.Optional(Type.Boolean(autostart)),
    restart_now: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Restart the machine where something is `pending` after the change, so that it takes effect. One that was stopped stays stopped.",
      }),
    ),
  },
  { env: { QUEUE: "letters", DEBUG: null }, size: "shared-cpu-2x", restart_now: true },
);
export type MachineUpdateRequest = Static<typeof MachineUpdateRequest>;

const Pending = Type.Object(
  {
    size: Type.Optional(Type.String()),
    command: Type.Optional(Nullable(Type.String())),
    env: Type.Optional(ShownEnv),
  },
  closed,
);

export const Machine = named(
  "Machine",
  {
    id: Type.String(),
    name: Nullable(Type.String()),
    owner: shownOwner,
    template: Type.String({ description: "Name of the template." }),
    size: Type.String(),
    status: Status,
    desired: Type.Unsafe<MachineDesired>({ ...Desired, description: "What was last asked for." }),
    env: ShownEnv,
    secrets: shownSecrets,
    metadata: Metadata,
    egress: Egress,
    command: Nullable(Type.String({ description: "Of the main process." })),
    pending: Nullable(Pending, {
      description:
        "What was changed and takes effect when the machine is started next: the whole `env`, the `command`, the `size`, as far as they differ from those in effect. Null: nothing.",
    }),
    restart: restartShown,
    stop_timeout: Duration,
    check: Nullable(checkShown, { description: "Its health check. Null: it has none." }),
    health: Nullable(healthShown, { description: "What its host has found by the check. Null: no check." }),
    autostop: Nullable(autostopFields, { description: "Null: it is not stopped by itself." }),
    autostart: Type.Boolean(autostart),
    host_id: Nullable(Type.String({ description: "Where it runs, or where its disk is." })),
    snapshot_id: Nullable(
      Type.String({
        description: "The snapshot that it comes from, or that was taken of it last. It may be deleted.",
      }),
    ),
    restarts: Type.Integer({ minimum: 0, description: "How often it was started again by its policy." }),
    exit_code: Nullable(
      Type.Integer({ description: "Of the main process, when it last ended; null while it runs." }),
    ),
    created_at: Timestamp,
    started_at: Nullable(Timestamp),
    stopped_at: Nullable({ ...Timestamp, description: "When it last ended; null while it runs." }),
    destroyed_at: Nullable(Timestamp),
    waits_for: Nullable(WaitsFor, {
      description: "What keeps it from what was asked for last; null: nothing does.",
    }),
    reason: Nullable(
      Type.String({
        description:
          "Why it is not running, or what happened to it when it last came to run. It begins with `host_offline: ` where its host does not answer, with `disk_unreadable: ` where the host cannot use its disk, and with `disk_gone: ` where the host does not have it any more.",
      }),
    ),
    restart_at: Nullable({ ...Timestamp, description: "When it is started again by its policy." }),
  },
  {
    id: "mch_01kb3x7q9vt5c7r2m8n4p6w1yz",
    name: "worker",
    owner: null,
    template: "base",
    size: "shared-cpu-1x",
    status: "running",
    desired: "running",
    env: { QUEUE: "mail" },
    secrets: [],
    metadata: { service: "mail" },
    egress: exampleOf(Egress),
    command: "python3 /srv/worker.py",
    pending: null,
    restart: { policy: "on-failure", max_retries: 10, disk: "keep" },
    stop_timeout: "10s",
    check: {
      ...{ path: "/health", port: 8080, interval: "10s", timeout: "5s" },
      ...{ failures: 3, grace: "30s", restart: false },
    },
    health: {
      status: "passing",
      since: "2026-11-20T18:03:15.204Z",
      reason: null,
      last_checked_at: "2026-11-20T18:03:15.204Z",
    },
    autostop: null,
    autostart: false,
    host_id: exampleIds.host,
    snapshot_id: null,
    restarts: 1,
    exit_code: null,
    created_at: "2026-11-20T16:21:09.123Z",
    started_at: "2026-11-20T18:03:11.707Z",
    stopped_at: null,
    destroyed_at: null,
    reason: null,
    waits_for: null,
    restart_at: null,
  },
);
export type Machine = Static<typeof Machine>;

export const MachineStartRequest = named(
  "MachineStartRequest",
  {
    new_disk: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Start it with a new disk of its template, also where its own is lost or unreadable, or its host is away. What is on the old disk is given up: it is removed.",
      }),
    ),
  },
  { new_disk: true },
);
export type MachineStartRequest = Static<typeof MachineStartRequest>;

export const MachineForks = named(
  "MachineForks",
  { items: Type.Array(Machine) },
  { items: [exampleOf(Machine)] },
);
export type MachineForks = Static<typeof MachineForks>;

export const MachineList = countedPageOf(Machine, "MachineList", {
  statuses: machineStatuses,
  exampleCursor: "bWNoXzAxa2IzeDdxOXZ0NWM3cjJtOG40cDZ3MXl6",
});
export type MachineList = Static<typeof MachineList>;

/** `metadata.KEY=VALUE` filters are read from the query beside these. */
export const MachineListQuery = Type.Object(
  {
    ...PageQuery.properties,
    status: Type.Optional(Status),
    ...vmListFilters,
    alive: Type.Optional(Type.Boolean({ description: "`true`: only those that have not been destroyed." })),
    crash_loop: Type.Optional(
      Type.Boolean({
        description: `\`true\`: only those that their policy has started again ${CRASH_LOOP_RESTARTS} times or more without ten healthy minutes in between.`,
      }),
    ),
    unhealthy: Type.Optional(
      Type.Boolean({ description: "`true`: only those that run and whose health check fails." }),
    ),
  },
  { ...closed, patternProperties: { "^metadata\\..+$": { type: "string" } } },
);
export type MachineListQuery = Static<typeof MachineListQuery>;
