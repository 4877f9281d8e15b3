import { hostCalls } from "../calls/host-calls.ts";
import type { World } from "../support/world.ts";
import { leftOut, ofNoClient, type ClientCall } from "./client-call.ts";

async function activate(world: World): Promise<void> {
  const { method, path } = await hostCalls.activateHost(world);
  await world.call(method, path);
}

export const hostClientCalls = {
  listHosts: {
    sdk: ({ hosts }) => hosts.page(),
    python: "skerry.hosts.page()",
    cli: "host list --json",
  },
  getHost: {
    sdk: ({ hosts }, { id }) => hosts.get(id),
    python: "skerry.hosts.get({id})",
    cli: "host show {id} --json",
  },
  listMoves: {
    sdk: ({ moves }) => moves.page(),
    python: "skerry.moves.page()",
    cli: "move list --json",
  },
  getMove: {
    sdk: ({ moves }, { id }) => moves.get(id),
    python: "skerry.moves.get({id})",
    cli: leftOut("`move list` has all that there is of each"),
  },
  drainHost: {
    sdk: ({ hosts }, { id }) => hosts.drain(id),
    python: "skerry.hosts.drain({id})",
    cli: "host drain {id} --json",
    // No VM would find room otherwise.
    meanwhile: activate,
  },
  activateHost: {
    sdk: ({ hosts }, { id }) => hosts.activate(id),
    python: "skerry.hosts.activate({id})",
    cli: "host activate {id} --json",
  },
  getAuthority: {
    sdk: ({ hosts }) => hosts.authority(),
    python: "skerry.hosts.authority()",
    cli: "host authority --json",
  },
  rotateAuthority: {
    sdk: ({ hosts }) => hosts.rotateAuthority(),
    python: "skerry.hosts.rotate_authority()",
    cli: "host rotate-authority --json",
  },
  createJoinToken: {
    sdk: ({ hosts }) => hosts.createJoinToken(),
    python: "skerry.hosts.create_join_token()",
    cli: "host token --json",
  },
  removeHost: {
    sdk: ({ hosts }, { id }) => hosts.remove(id),
    python: "skerry.hosts.remove({id})",
    cli: "host remove {id}",
    gives: { cli: "" },
  },
  joinHost: ofNoClient("a machine that becomes a host asks for it: joining.test.ts"),
  confirmHost: ofNoClient("a machine that becomes a host asks for it: joining.test.ts"),
} satisfies Readonly<Record<keyof typeof hostCalls, ClientCall>>;
