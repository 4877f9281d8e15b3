// The types of the published client are the contract's: a test compiles this with both. They are written out from the schemas, and the
// compiler reads the schemas too.

import type {
  Egress,
  EgressReport,
  Host,
  Limits,
  Machine,
  MachineCreateRequest,
  Me,
  Member,
  Organization,
} from "@skerry/sdk";
import type {
  AuditEvent,
  ExecuteResponse,
  SandboxCreateRequest,
  SandboxInfo,
  Status,
  Template,
  Token,
} from "@skerry/sdk";
import type * as audit from "@skerry/contract/audit/audit-event";
import type * as egress from "@skerry/contract/vms/egress";
import type * as execute from "@skerry/contract/vms/execute";
import type * as hosts from "@skerry/contract/hosts/host";
import type * as limits from "@skerry/contract/limits/limits-report";
import type * as machines from "@skerry/contract/machines/machine";
import type * as organizations from "@skerry/contract/organizations/organization";
import type * as sandboxes from "@skerry/contract/sandboxes/sandbox";
import type * as status from "@skerry/contract/platform/status";
import type * as templates from "@skerry/contract/templates/template";
import type * as tokens from "@skerry/contract/organizations/token";

/** Durations and sizes are any strings in the contract. */
type Loose<T> = T extends `${bigint}${string}` | `shared-cpu-${string}` | `performance-${string}`
  ? string
  : T extends object
    ? { [Key in keyof T]: Loose<T[Key]> }
    : T;

type Same<A, B> =
  (<T>() => T extends Loose<A> ? 1 : 2) extends <T>() => T extends Loose<B> ? 1 : 2 ? true : false;

export const same: readonly true[] = [
  true satisfies Same<AuditEvent, audit.AuditEvent>,
  true satisfies Same<Egress, egress.Egress>,
  true satisfies Same<EgressReport, egress.EgressReport>,
  true satisfies Same<ExecuteResponse, execute.ExecuteResponse>,
  true satisfies Same<Host, hosts.Host>,
  true satisfies Same<Limits, limits.Limits>,
  true satisfies Same<Machine, machines.Machine>,
  true satisfies Same<MachineCreateRequest, machines.MachineCreateRequest>,
  true satisfies Same<Me, organizations.Me>,
  true satisfies Same<Member, organizations.Member>,
  true satisfies Same<Organization, organizations.Organization>,
  true satisfies Same<SandboxCreateRequest, sandboxes.SandboxCreateRequest>,
  true satisfies Same<SandboxInfo, sandboxes.Sandbox>,
  true satisfies Same<Status, status.Status>,
  true satisfies Same<Template, templates.Template>,
  true satisfies Same<Token, tokens.Token>,
];

// @ts-expect-error: the comparison finds a field that only one of them has.
export const found: true = true satisfies Same<Token, Omit<tokens.Token, "bound">>;
