import type { OperationId } from "../../src/app/operations.ts";
import { hostCalls } from "../calls/host-calls.ts";
import type { World } from "../support/world.ts";
import { leftOut, ofNoClient, type ClientCall } from "./client-call.ts";

async function activate(world: World): Promise<void> {
  const { method, path } = await hostCalls.activateHost(world);
  await world.call(method, path);
}

export const hostClientCalls = {
  listHosts: {
    cli: "host list --json",
  },
  getHost: {
    cli: "host show {id} --json",
  },
  listMoves: {
    cli: "move list --json",
  },
  getMove: {
    cli: leftOut("`move list` has all that there is of each"),
  },
  drainHost: {
    cli: "host drain {id} --json",
    // No VM would find room otherwise.
    meanwhile: activate,
  },
  activateHost: {
    cli: "host activate {id} --json",
  },
  getAuthority: {
    cli: "host authority --json",
  },
  rotateAuthority: {
    cli: "host rotate-authority --json",
  },
  createJoinToken: {
    cli: "host token --json",
  },
  removeHost: {
    cli: "host remove {id}",
    gives: { cli: "" },
  },
  joinHost: ofNoClient("a machine that becomes a host asks for it: joining.test.ts"),
  confirmHost: ofNoClient("a machine that becomes a host asks for it: joining.test.ts"),
} satisfies Partial<Readonly<Record<OperationId, ClientCall>>>;
