import type { OperationId } from "../../src/app/operations.ts";
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
    cli: "audit list --json",
  },
  getMe: { cli: "whoami --json" },
  createOrganization: {
    cli: "org create new --json",
  },
  listOrganizations: {
    cli: "org list --json",
  },
  getOrganization: {
    cli: "org show {id} --json",
  },
  updateOrganization: {
    cli: "org update {id} --egress-default deny_all --json",
  },
  deleteOrganization: {
    cli: "org delete {id}",
    gives: { cli: "" },
  },
  listMembers: {
    cli: "org members --json",
  },
  addMember: {
    cli: "org add-member {said.name} --role viewer --json",
  },
  updateMember: {
    cli: "org set-role {user_id} viewer --json",
  },
  removeMember: {
    cli: "org remove-member {user_id}",
    gives: { cli: "" },
  },
  getLimits: { cli: "org limits --json" },
  getOrganizationLimits: {
    cli: "org limits {id} --json",
  },
  setOrganizationLimits: {
    cli: "org limits {id} --set quota_machines=1000 --json",
  },
  createToken: {
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
    cli: "auth token list --json",
  },
  revokeToken: {
    cli: "auth token revoke {id}",
    gives: { cli: "" },
  },
} satisfies Partial<Readonly<Record<OperationId, ClientCall>>>;
