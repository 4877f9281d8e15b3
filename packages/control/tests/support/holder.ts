// A caller with one token, who tries ways from one call to data that another call reads.

import { expect } from "vitest";
import type { ReachId } from "@skerry/contract/organizations/scope-reach";
import type { Answer, World } from "./world.ts";

export const SECRET = "the secret that is in it";
/** Things that others of the organization have, and the token does not own. */
export type Theirs = Readonly<
  Record<"sandbox" | "e2b" | "snapshot" | "machine" | "machineSnapshot" | "template" | "member", string>
>;

export interface Body {
  readonly id: string;
  readonly [name: string]: unknown;
}

/** The way ends here, with the status or the reason. */
export class Refused extends Error {}

const refusals: ReadonlySet<number> = new Set([401, 403]);

interface Told {
  readonly text: string;
}

/** Calls with one token, or without it. */
export class Holder {
  readonly world: World;
  readonly #token: string;

  constructor(world: World, token: string) {
    this.world = world;
    this.#token = token;
  }

  /** The same with another token. */
  as(token: unknown): Holder {
    return new Holder(this.world, String(token));
  }

  async call(method: string, path: string, body?: unknown): Promise<Answer<Body>> {
    const answer = await this.world.call<Body>(method, path, {
      token: this.#token,
      ...(body !== undefined && { body }),
    });
    if (refusals.has(answer.status)) throw new Refused(String(answer.status));
    // A thing that a token may know nothing of is unknown to it.
    if (answer.body["code"] === "unknown_snapshot") throw new Refused("unknown_snapshot");
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
    return answer;
  }

  async post(path: string, body: unknown = {}): Promise<Body> {
    return (await this.call("POST", path, body)).body;
  }

  /** A request without the token. */
  async visit(path: string, headers: Record<string, string> = {}): Promise<Told> {
    const answer = await fetch(this.world.url + path, { headers });
    const text = await answer.text();
    if (refusals.has(answer.status)) throw new Refused(String(answer.status));
    expect(answer.status, `${path}: ${text}`).toBe(200);
    return { text };
  }
}

export async function says(text: string, answer: Promise<Told>): Promise<void> {
  if (!(await answer).text.includes(text)) throw new Refused("not told");
}

export type Way = readonly [
  to: ReachId,
  name: string,
  tryIt: (by: Holder, theirs: Theirs) => Promise<unknown>,
];
