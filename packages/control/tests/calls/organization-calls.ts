import { randomUUID } from "node:crypto";
import { Members } from "../support/members.ts";
import type { World } from "../support/world.ts";
import { call, type Prepare } from "./call.ts";

export const organizationCalls = {
  createOrganization: async () => call("POST", "/v1/orgs", { name: "new" }),
  getOrganization: async ({ orgId }) => call("GET", `/v1/orgs/${orgId}`),
  updateOrganization: async ({ orgId }) => call("PATCH", `/v1/orgs/${orgId}`, { egress_default: "deny_all" }),
  deleteOrganization: async (world) => call("DELETE", (await new Members(world).newOrganization()).path),
  listMembers: async ({ orgId }) => call("GET", `/v1/orgs/${orgId}/members`),
  addMember: async ({ orgId }) =>
    call("POST", `/v1/orgs/${orgId}/members`, { name: randomUUID(), role: "viewer" }),
  updateMember: async (world) => call("PATCH", await member(world), { role: "viewer" }),
  removeMember: async (world) => call("DELETE", await member(world)),
  getOrganizationLimits: async ({ orgId }) => call("GET", `/v1/orgs/${orgId}/limits`),
  setOrganizationLimits: async ({ orgId }) =>
    call("PATCH", `/v1/orgs/${orgId}/limits`, { quota_machines: 1_000 }),
  createToken: async () => call("POST", "/v1/auth/tokens", {}),
  createLoginCode: async () => call("POST", "/v1/auth/login-codes", {}),
  describeLoginCode: async (world) => {
    const { body } = await world.call<{ code: string }>("POST", "/v1/auth/login-codes", { body: {} });
    return call("POST", "/v1/auth/login-codes/owner", { code: body.code });
  },
  createSession: async ({ token }) => call("POST", "/v1/auth/sessions", { token }),
  endSession: async () => call("DELETE", "/v1/auth/sessions"),
  revokeToken: async (world) => {
    const minted = await world.call<{ id: string }>("POST", "/v1/auth/tokens", { body: {} });
    return call("DELETE", `/v1/auth/tokens/${minted.body.id}`);
  },
} satisfies Readonly<Record<string, Prepare>>;

async function member(world: World): Promise<string> {
  const { user_id } = await new Members(world).newMember("member");
  return `/v1/orgs/${world.orgId}/members/${user_id}`;
}
