import { randomUUID } from "node:crypto";
import type { World } from "../support/world.ts";

/** A request that succeeds. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}

/** Makes what the call is about. */
export type Prepare = (world: World) => Promise<Call>;

export const call = (method: Call["method"], path: string, body?: unknown): Call => ({ method, path, body });

/** Two VMs of the same name would be refused. */
export function newName(): string {
  return `of a call ${randomUUID()}`;
}
