// One row for each operation of the API: how a program calls it in TypeScript and in Python, and a person on
// the command line. Each row makes the request of the file beside it in `calls/`, which also prepares what
// the request is about, and gives what the API answers.

import type { Skerry } from "@skerry/sdk";
import type { Prepare } from "../calls/call.ts";
import type { World } from "../support/world.ts";

/** Parameters of the request's path, `path` with a slash before it; those that the path does not have are
 *  empty. */
export interface At {
  readonly id: string;
  readonly execution: string;
  readonly path: string;
  readonly port: string;
  readonly name: string;
  readonly host: string;
  readonly deploy: string;
  readonly template: string;
  readonly tag: string;
  readonly user_id: string;
  /** Body of the request, where it is JSON. */
  readonly body: unknown;
  /** Fields of its body that are text. */
  readonly said: Readonly<Record<"code" | "name" | "snapshot" | "template", string>>;
}

/** A client that does not offer the operation, or not as a call of its own. */
export interface LeftOut {
  readonly leftOut: string;
}

export const leftOut = (why: string): LeftOut => ({ leftOut: why });

/** Both halves of the Python client give `python`. */
export const kinds = ["sdk", "python", "cli"] as const;
export type Kind = (typeof kinds)[number];

export interface ClientCall {
  /** Left away where the method is generated, as `python` is. */
  readonly sdk?: ((skerry: Skerry, at: At) => unknown) | LeftOut;
  /** An expression. `{id}` becomes the parameter `id` as a literal, `{said.name}` a field of the body. */
  readonly python?: string | LeftOut;
  /**
   * The words after `skerry`; placeholders stand for themselves. Left away where `skerry api` is all there
   * is.
   */
  readonly cli?: string | LeftOut;
  /** The result, where it is not the answer of the API or the items of its list. */
  readonly gives?: Partial<Record<Kind, unknown>>;
  /** In the place of what `calls/` prepares. */
  readonly prepare?: Prepare;
  /** Runs when the request is answered, for a command that waits for what becomes of it, and to set back what
   *  would disturb other rows. */
  readonly meanwhile?: (world: World) => Promise<void>;
  /** Standard input of the command line. */
  readonly input?: string;
}

export function ofNoClient(why: string): ClientCall {
  return { sdk: leftOut(why), python: leftOut(why), cli: leftOut(why) };
}
