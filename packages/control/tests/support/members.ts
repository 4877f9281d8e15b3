// Members of the organization of a world, and what they call, through the API alone.

import { expect } from "vitest";
import type { Role } from "@skerry/contract/organizations/roles";
import type { Me, MemberAdded, Organization } from "@skerry/contract/organizations/organization";
import type { TokenCreated } from "@skerry/contract/organizations/token";
import type { Answer, World } from "./world.ts";

export type Body = Record<string, unknown>;

export async function done<T>(expected: number, answer: Promise<Answer<T>>): Promise<T> {
  const { status, text, body } = await answer;
  expect(status, text).toBe(expected);
  return body;
}

export function refused(answer: Answer<Body>): [status: number, code: unknown] {
  return [answer.status, answer.body["code"]];
}

/** Calls about organizations; `at` is the path of one, by default that of the world. */
export class Members {
  readonly #world: World;
  readonly home: string;
  /** No two members of an organization have one name. */
  static #added = 0;

  constructor(world: World) {
    this.#world = world;
    this.home = `/v1/orgs/${world.orgId}`;
  }

  add(body: Body, { token = this.#world.token, at = this.home } = {}): Promise<Answer<MemberAdded & Body>> {
    return this.#world.call("POST", `${at}/members`, { body, token });
  }

  async newMember(role: Role, at = this.home): Promise<MemberAdded & { readonly secret: string }> {
    const added = await done(201, this.add({ name: `${role} ${++Members.#added}`, role }, { at }));
    return { ...added, secret: added.token.token };
  }

  async newOrganization(body: Body = {}): Promise<Organization & { readonly path: string }> {
    const asked = this.#world.call<Organization>("POST", "/v1/orgs", { body: { name: "new", ...body } });
    const made = await done(201, asked);
    return { ...made, path: `/v1/orgs/${made.id}` };
  }

  me(token: string, headers: Record<string, string> = {}): Promise<Me> {
    return done(200, this.#world.call<Me>("GET", "/v1/auth/me", { token, headers }));
  }

  setRole(token: string, userId: string, { role, at = this.home }: { role: Role; at?: string }) {
    return this.#world.call("PATCH", `${at}/members/${userId}`, { token, body: { role } });
  }

  remove(token: string, userId: string, at = this.home) {
    return this.#world.call("DELETE", `${at}/members/${userId}`, { token });
  }

  mint(
    token: string,
    body: Body = {},
    headers: Record<string, string> = {},
  ): Promise<Answer<TokenCreated & Body>> {
    return this.#world.call("POST", "/v1/auth/tokens", { token, body, headers });
  }
}
