import type { Role } from "@skerry/contract/organizations/roles";
import type { Scope } from "@skerry/contract/organizations/scopes";

/** Whose things a request may reach. */
export interface Tenant {
  readonly orgId: string;
}

/** On whose behalf a request runs. */
export interface Caller extends Tenant {
  readonly userId: string;
  /** The token of the request. */
  readonly tokenId: string;
  /** In this organization. */
  readonly role: Role;
  /** What the token can really do here: its own scopes, within what the role is good for. */
  readonly scopes: ReadonlySet<Scope>;
  /** Its organization wants commands and paths of files in its audit log. */
  readonly auditDetails: boolean;
}
