import type { organizationCalls } from "../calls/organization-calls.ts";
import { expect } from "vitest";
import { leftOut, type ClientCall } from "./client-call.ts";

const forBrowsers = leftOut("browsers log in by it");

export const organizationClientCalls = {
  exportAudit: {
    sdk: ({ audit }) => audit.export(),
    python: "skerry.audit.export()",
    cli: "audit export",
  },
  listAudit: {
    sdk: ({ audit }) => audit.page(),
    python: "skerry.audit.page()",
    cli: "audit list --json",
  },
  getMe: { sdk: (skerry) => skerry.me(), python: "skerry.me()", cli: "whoami --json" },
  createOrganization: {
    sdk: ({ organizations }) => organizations.create({ name: "new" }),
    python: 'skerry.organizations.create(name="new")',
    cli: "org create new --json",
  },
  listOrganizations: {
    sdk: ({ organizations }) => organizations.page(),
    python: "skerry.organizations.page()",
    cli: "org list --json",
  },
  getOrganization: {
    sdk: ({ organizations }, { id }) => organizations.get(id),
    python: "skerry.organizations.get({id})",
    cli: "org show {id} --json",
  },
  updateOrganization: {
    sdk: ({ organizations }, { id }) => organizations.update(id, { egress_default: "deny_all" }),
    python: 'skerry.organizations.update({id}, egress_default="deny_all")',
    cli: "org update {id} --egress-default deny_all --json",
  },
  deleteOrganization: {
    sdk: ({ organizations }, { id }) => organizations.delete(id),
    python: "skerry.organizations.delete({id})",
    cli: "org delete {id}",
    gives: { cli: "" },
  },
  listMembers: {
    sdk: ({ organizations }, { id }) => organizations.memberPage(id),
    python: "skerry.organizations.member_page({id})",
    cli: "org members --json",
  },
  addMember: {
    sdk: ({ organizations }, { id, said }) =>
      organizations.addMember(id, { name: said.name, role: "viewer" }),
    python: 'skerry.organizations.add_member({id}, name={said.name}, role="viewer")',
    cli: "org add-member {said.name} --role viewer --json",
  },
  updateMember: {
    sdk: ({ organizations }, { id, user_id }) => organizations.setRole(id, user_id, "viewer"),
    python: 'skerry.organizations.set_role({id}, {user_id}, "viewer")',
    cli: "org set-role {user_id} viewer --json",
  },
  removeMember: {
    sdk: ({ organizations }, { id, user_id }) => organizations.removeMember(id, user_id),
    python: "skerry.organizations.remove_member({id}, {user_id})",
    cli: "org remove-member {user_id}",
    gives: { cli: "" },
  },
  getLimits: { sdk: (skerry) => skerry.limits(), python: "skerry.limits()", cli: "org limits --json" },
  getOrganizationLimits: {
    sdk: ({ organizations }, { id }) => organizations.limits(id),
    python: "skerry.organizations.limits({id})",
    cli: "org limits {id} --json",
  },
  setOrganizationLimits: {
    sdk: ({ organizations }, { id }) => organizations.setLimits(id, { quota_machines: 1_000 }),
    python: 'skerry.organizations.set_limits({id}, {"quota_machines": 1_000})',
    cli: "org limits {id} --set quota_machines=1000 --json",
  },
  createToken: {
    sdk: ({ tokens }) => tokens.create(),
    python: "skerry.tokens.create()",
    cli: "auth token create --json",
  },
  createLoginCode: {
    sdk: ({ logins }) => logins.createCode(),
    python: forBrowsers,
    cli: "open --json",
    gives: { cli: { url: expect.stringMatching(/\/ui\/login#code=\S+$/), expires_at: expect.any(String) } },
  },
  describeLoginCode: {
    sdk: ({ logins }, { said }) => logins.describeCode(said.code),
    python: forBrowsers,
    cli: forBrowsers,
  },
  createSession: {
    sdk: leftOut("only a page of the server can log in: packages/dashboard/tests/asked-login.test.ts"),
    python: forBrowsers,
    cli: forBrowsers,
  },
  endSession: { sdk: ({ logins }) => logins.end(), python: forBrowsers, cli: forBrowsers },
  listTokens: {
    sdk: ({ tokens }) => tokens.page(),
    python: "skerry.tokens.page()",
    cli: "auth token list --json",
  },
  revokeToken: {
    sdk: ({ tokens }, { id }) => tokens.revoke(id),
    python: "skerry.tokens.revoke({id})",
    cli: "auth token revoke {id}",
    gives: { cli: "" },
  },
} satisfies Readonly<Record<keyof typeof organizationCalls, ClientCall>>;
