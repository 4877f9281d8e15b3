// The servers of this process that strangers can connect to: how many connections they may hold, and who is told of it.

import type { ConnectionBounds } from "@skerry/contract/connections/connection-table";
import { Doors } from "@skerry/contract/connections/doors";
import { PressureLog } from "@skerry/contract/connections/pressure-log";
import type { RequestSinks } from "./http-server.ts";

export interface DoorSettings {
  readonly bounds: ConnectionBounds;
  readonly firstByteMs: number;
  readonly trustedProxies: readonly string[];
}

export function openDoors({ log, metrics }: RequestSinks, settings: DoorSettings): Doors {
  const pressure = new PressureLog((closed) =>
    log.warn(closed, "connections without an authenticated request were closed to make room for new ones"),
  );
  return new Doors({
    ...settings,
    observer: {
      count: (state, change) => metrics.connections.add(change, state),
      closed: (reason, address) => {
        metrics.connectionsRefused.add(1, reason);
        pressure.closed(reason, address);
      },
    },
  });
}
