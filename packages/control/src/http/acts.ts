// What each call does, for the audit log. Every operation that needs a token is here; the compiler sees to it.

import type { Act } from "../services/audit.ts";
import type { operations, Operation } from "./access.ts";

type AuditedOperation = {
  [Name in Operation]: (typeof operations)[Name] extends "public" ? never : Name;
}[Operation];

export const acts: Readonly<Record<AuditedOperation, Act>> = {
  getLimits: { action: "organization.limits", resource: "organization" },
  getStatus: { action: "organization.status", resource: "organization" },
  getMe: { action: "user.get", resource: "user" },
  createOrganization: { action: "organization.create", resource: "organization" },
  listOrganizations: { action: "organization.list", resource: "organization" },
  getOrganization: { action: "organization.get", resource: "organization" },
  updateOrganization: { action: "organization.update", resource: "organization" },
  listMembers: { action: "member.list", resource: "member" },
  addMember: { action: "member.add", resource: "member" },
  updateMember: { action: "member.update", resource: "member" },
  removeMember: { action: "member.remove", resource: "member" },
  listHosts: { action: "host.list", resource: "host" },
  getHost: { action: "host.get", resource: "host" },
  drainHost: { action: "host.drain", resource: "host" },
  activateHost: { action: "host.activate", resource: "host" },
  createJoinToken: { action: "host.token", resource: "host" },
  getMetrics: { action: "platform.metrics", resource: "platform" },
  getOpenapi: { action: "platform.document", resource: "platform" },
  listAudit: { action: "audit.list", resource: "audit" },
  listSizes: { action: "size.list", resource: "size" },
  listTemplates: { action: "template.list", resource: "template" },
  getTemplate: { action: "template.get", resource: "template" },
  createToken: { action: "token.create", resource: "token" },
  listTokens: { action: "token.list", resource: "token" },
  revokeToken: { action: "token.revoke", resource: "token" },
  createSandbox: { action: "sandbox.create", resource: "sandbox" },
  listSandboxes: { action: "sandbox.list", resource: "sandbox" },
  getSandbox: { action: "sandbox.get", resource: "sandbox" },
  destroySandbox: { action: "sandbox.destroy", resource: "sandbox" },
  keepSandboxAlive: { action: "sandbox.keepalive", resource: "sandbox" },
  setSandboxEgress: { action: "sandbox.egress.set", resource: "sandbox" },
  getSandboxEgress: { action: "sandbox.egress.get", resource: "sandbox" },
  execute: { action: "sandbox.execute", resource: "sandbox" },
  uploadFile: { action: "sandbox.file.upload", resource: "sandbox" },
  downloadFile: { action: "sandbox.file.download", resource: "sandbox" },
  createMachine: { action: "machine.create", resource: "machine" },
  listMachines: { action: "machine.list", resource: "machine" },
  getMachine: { action: "machine.get", resource: "machine" },
  destroyMachine: { action: "machine.destroy", resource: "machine" },
  startMachine: { action: "machine.start", resource: "machine" },
  stopMachine: { action: "machine.stop", resource: "machine" },
  restartMachine: { action: "machine.restart", resource: "machine" },
  getMachineLogs: { action: "machine.logs", resource: "machine" },
  setMachineEgress: { action: "machine.egress.set", resource: "machine" },
  getMachineEgress: { action: "machine.egress.get", resource: "machine" },
  executeInMachine: { action: "machine.execute", resource: "machine" },
  uploadMachineFile: { action: "machine.file.upload", resource: "machine" },
  downloadMachineFile: { action: "machine.file.download", resource: "machine" },
};
