// How hosts reach each other. Two beside one control share a machine, and use its sockets; all others need the network, also to the host beside
// control, which listens there only where its settings say so.

import { isLocalAddress, securedAddress } from "../host-client/host-directory.ts";
import type { Queries } from "../db/database.ts";
import { reachOf } from "./host-rows.ts";

/** Where `fromId` reaches `toId`; undefined where it cannot. */
export async function peerAddress(db: Queries, fromId: string, toId: string): Promise<string | undefined> {
  const [from, to] = await Promise.all([reachOf(db, fromId), reachOf(db, toId)]);
  if (from === undefined || to === undefined) return undefined;
  if (!isLocalAddress(to.address) || isLocalAddress(from.address)) return to.address;
  return to.endpoint === null ? undefined : securedAddress(toId, to.endpoint);
}
