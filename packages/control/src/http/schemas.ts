// Schemas with an `$id` are registered once and referred to by name, so that the OpenAPI document names them too.

import type { FastifyInstance } from "fastify";
import type { TSchema } from "typebox";
import { ErrorResponse, NoFields } from "@skerry/contract/common";
import * as audit from "@skerry/contract/audit";
import * as egress from "@skerry/contract/egress";
import * as machines from "@skerry/contract/machines";
import * as organizations from "@skerry/contract/organizations";
import * as platform from "@skerry/contract/platform";
import * as hosts from "@skerry/contract/hosts";
import * as joining from "@skerry/contract/joining";
import * as limits from "@skerry/contract/limits-report";
import * as sandboxes from "@skerry/contract/sandboxes";
import * as tokens from "@skerry/contract/tokens";

const named: readonly TSchema[] = [
  ErrorResponse,
  NoFields,
  platform.Health,
  platform.Status,
  audit.AuditEvent,
  audit.AuditList,
  platform.SizeInfo,
  platform.SizeList,
  platform.Template,
  platform.TemplateList,
  limits.Limits,
  hosts.Host,
  hosts.HostList,
  joining.JoinToken,
  joining.JoinRequest,
  joining.JoinAnswer,
  joining.JoinConfirmation,
  joining.HostJoined,
  tokens.Token,
  tokens.TokenCreateRequest,
  tokens.TokenList,
  tokens.TokenCreated,
  organizations.Organization,
  organizations.OrganizationList,
  organizations.OrganizationCreateRequest,
  organizations.OrganizationUpdateRequest,
  organizations.Member,
  organizations.MemberList,
  organizations.MemberAddRequest,
  organizations.MemberAdded,
  organizations.MemberUpdateRequest,
  organizations.Me,
  egress.Egress,
  egress.EgressCounters,
  egress.EgressDenial,
  egress.EgressReport,
  egress.EgressRequest,
  sandboxes.Sandbox,
  sandboxes.SandboxCreateRequest,
  sandboxes.SandboxList,
  sandboxes.KeepaliveRequest,
  machines.Machine,
  machines.MachineCreateRequest,
  machines.MachineList,
  machines.MachineLogs,
  machines.MachineStartRequest,
  sandboxes.ExecuteRequest,
  sandboxes.ExecuteExit,
  sandboxes.ExecuteResponse,
  sandboxes.FileWritten,
  sandboxes.DirectoryEntry,
  sandboxes.DirectoryListing,
];

export function registerSchemas(app: FastifyInstance): void {
  for (const schema of named) {
    app.addSchema(withReferences(schema, true));
  }
}

/** The schema by its name. For the compiler it has the type of what it names. */
export function ref<T extends TSchema>(schema: T): T {
  const id = idOf(schema);
  if (id === undefined) throw new Error("only a schema with an $id can be referred to");
  return { $ref: `${id}#` } as unknown as T;
}

/** What `ref` refers to; any other schema is returned as it is. */
export function original(schema: TSchema): TSchema {
  const target = (schema as { $ref?: unknown }).$ref;
  if (typeof target !== "string") return schema;
  const found = named.find((candidate) => `${idOf(candidate)}#` === target);
  if (found === undefined) throw new Error(`schema ${target} is not registered`);
  return found;
}

function idOf(schema: TSchema): string | undefined {
  const id = (schema as { $id?: unknown }).$id;
  return typeof id === "string" ? id : undefined;
}

/** A plain copy in which every named schema but the outermost is a reference. */
function withReferences(value: unknown, outermost: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, false));
  if (typeof value !== "object" || value === null) return value;
  const { $id } = value as { $id?: unknown };
  if (!outermost && typeof $id === "string") return { $ref: `${$id}#` };
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withReferences(part, false)]));
}
