import { sql } from "kysely";
import { newId } from "@skerry/contract/ids";
import { JoiningHost, newJoinToken } from "../support/joining-host.ts";
import type { World } from "../support/world.ts";
import { call, type Prepare } from "./call.ts";

export const hostCalls = {
  getHost: async (world) => call("GET", await hostPath(world)),
  getMove: async (world) => call("GET", `/v1/moves/${await move(world)}`),
  drainHost: async (world) => call("POST", await hostPath(world, "/drain")),
  activateHost: async (world) => call("POST", await hostPath(world, "/activate")),
  rotateAuthority: async () => call("POST", "/v1/authority/rotate", {}),
  createJoinToken: async () => call("POST", "/v1/hosts/join-tokens", {}),
  removeHost: async (world) => call("DELETE", `/v1/hosts/${(await confirmation(world)).host_id}`),
  joinHost: async (world) => call("POST", "/v1/hosts/join", await joinRequest(world)),
  confirmHost: async (world) => call("POST", "/v1/hosts/join/confirm", await confirmation(world)),
} satisfies Readonly<Record<string, Prepare>>;

/** A machine that joins, and its request. Whoever goes through the calls lets go of the world, and of it with the world. */
async function joinRequest(world: World) {
  return (await JoiningHost.open(world)).request(await newJoinToken(world));
}

async function confirmation(world: World) {
  const host = await JoiningHost.open(world);
  return host.join(await newJoinToken(world));
}

/** One that has ended, between a host and itself. */
async function move(world: World): Promise<string> {
  const [id, vm] = [newId("move"), newId("sandbox")];
  await sql`
    insert into moves (id, vm_id, from_host_id, to_host_id, from_execution_id, to_execution_id, ticket, vcpus, memory_mib, status)
    select ${id}, ${vm}, id, id, '', '', '', 1, 256, 'done' from hosts limit 1`.execute(world.db);
  return id;
}

async function hostPath(world: World, rest = ""): Promise<string> {
  const { body } = await world.call<{ items: { id: string }[] }>("GET", "/v1/hosts");
  return `/v1/hosts/${body.items[0]?.id}${rest}`;
}
