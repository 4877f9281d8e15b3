// When a machine is started again and how it is stopped: what requests and answers about machines share.

import { Type } from "typebox";
import {
  AUTOSTOP_MAX_MS,
  IDLE_MIN_MS,
  RESTART_RETRIES_DEFAULT,
  RESTART_RETRIES_MAX,
  STOP_TIMEOUT_MAX_MS,
} from "../bounds.ts";
import { formatDuration } from "../durations.ts";
import { Duration, Nullable, OneOf } from "../fields.ts";
import { restartDisks, restartPolicies, type RestartDisk, type RestartPolicy } from "./machine-status.ts";

const closed = { additionalProperties: false } as const;

const policies = OneOf(restartPolicies);
const disks = OneOf(restartDisks);

const maxRetries = Nullable(Type.Integer({ minimum: 0, maximum: RESTART_RETRIES_MAX }), {
  description: `Restarts without ten healthy minutes in between, after which it is left as it is; null: without end. Default: ${RESTART_RETRIES_DEFAULT} with \`on-failure\`, null with \`always\`.`,
});

export const restartRequest = Type.Object(
  {
    // Machines are there to keep running, and a main process that ends with success has done its work.
    policy: Type.Optional(
      Type.Unsafe<RestartPolicy>({
        ...policies,
        default: "on-failure",
        description:
          "`no`: never by itself. `on-failure`: when it ended otherwise than by its main process exiting with 0. `always`: whenever it ends without having been stopped.",
      }),
    ),
    max_retries: Type.Optional(maxRetries),
    disk: Type.Optional(
      Type.Unsafe<RestartDisk>({
        ...disks,
        default: "keep",
        description:
          "What happens when its host is lost. `keep`: the machine waits for the host, which has its disk. `disposable`: by its policy it is started on another host, with a new disk, and what is on the old one is given up.",
      }),
    ),
  },
  closed,
);

/** The same in a change: a field that is left out stays as it is. */
export const restartChange = Type.Object(
  {
    policy: Type.Optional(
      Type.Unsafe<RestartPolicy>({
        ...policies,
        description: "Another policy brings its own default of `max_retries`, unless that is given.",
      }),
    ),
    max_retries: Type.Optional(maxRetries),
    disk: Type.Optional(Type.Unsafe<RestartDisk>(disks)),
  },
  { ...closed, description: "What is left out stays as it is." },
);

export const restartShown = Type.Object(
  {
    policy: Type.Unsafe<RestartPolicy>(policies),
    max_retries: maxRetries,
    disk: Type.Unsafe<RestartDisk>(disks),
  },
  closed,
);

export const autostopFields = Type.Object(
  {
    idle: Type.String({
      ...Duration,
      examples: ["5m"],
      description: `How long nothing has to use it, from ${formatDuration(IDLE_MIN_MS)} to ${formatDuration(AUTOSTOP_MAX_MS)}. A use is a call into it, from its first byte to its last: a connection to a port, a command, a terminal, a file. A health check is none.`,
    }),
  },
  { ...closed, description: "Stop it, with its `stop_timeout`, when nothing has used it for so long." },
);

export const autostart = {
  description:
    "A request for one of its ports, and any other call into it, starts it again and waits for it, where `autostop` has stopped it.",
};

export const stopTimeout = {
  ...Duration,
  examples: ["30s"],
  description: `From SIGTERM to SIGKILL when it is stopped, at most ${formatDuration(STOP_TIMEOUT_MAX_MS)}.`,
};
