import { randomUUID } from "node:crypto";
import type { World } from "../support/world.ts";
import { call, type Prepare } from "./call.ts";

export const secretCalls = {
  getSecret: async (world) => call("GET", await newSecret(world)),
  setSecret: async () => call("PUT", `/v1/secrets/${newName()}`, { value: "x" }),
  rollBackSecret: async (world) => call("POST", `${await newSecret(world)}/rollback`, { version: 1 }),
  deleteSecret: async (world) => call("DELETE", await newSecret(world)),
} satisfies Readonly<Record<string, Prepare>>;

/** Its path. */
async function newSecret(world: World): Promise<string> {
  const path = `/v1/secrets/${newName()}`;
  await world.call("PUT", path, { body: { value: "first" } });
  return path;
}

function newName(): string {
  return `S_${randomUUID().replaceAll("-", "_")}`;
}
