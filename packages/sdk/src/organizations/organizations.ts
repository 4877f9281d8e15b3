// Organizations and their members. Each call names its organization, also where it is not the client's own.

import type { Role } from "@skerry/contract/organizations/roles";
import type {
  Member,
  MemberAdded,
  MemberAddRequest,
  Organization,
  OrganizationCreateRequest,
  OrganizationUpdateRequest,
} from "@skerry/contract/organizations/organization";
import type { LimitsChangeRequest, OrganizationLimitsReport } from "@skerry/contract/limits/limits-report";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, pageQuery, type Page, type PageOptions } from "../http/pages.ts";
import { memberPath, membersPath, organizationLimitsPath, organizationPath } from "../http/paths.ts";

export class Organizations {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Makes an organization whose first owner you are. Code `forbidden` but for the operator's own organization. */
  create(request: OrganizationCreateRequest, options: CallOptions = {}): Promise<Organization> {
    return this.#http.json<Organization>(
      { method: "POST", path: "/v1/orgs", json: request, creates: true },
      options,
    );
  }

  /** Every organization that you are a member of, newest first. */
  list(options: CallOptions = {}): AsyncGenerator<Organization, void> {
    return everyItem((cursor) => this.page({ cursor }, options));
  }

  /** One page of the list. */
  page(query: PageOptions = {}, options: CallOptions = {}): Promise<Page<Organization>> {
    return this.#http.json<Page<Organization>>(
      { method: "GET", path: "/v1/orgs", query: pageQuery(query) },
      options,
    );
  }

  /** Code `organization_not_found` where there is none, or where you are not a member. */
  get(id: string, options: CallOptions = {}): Promise<Organization> {
    return this.#http.json<Organization>({ method: "GET", path: organizationPath(id) }, options);
  }

  /** Changes what is named: `name`, and `egress_default`, the egress mode of sandboxes that ask for none, and `audit_details`, whether the
   *  audit log keeps commands and paths of files. */
  update(id: string, request: OrganizationUpdateRequest, options: CallOptions = {}): Promise<Organization> {
    return this.#http.json<Organization>(
      { method: "PATCH", path: organizationPath(id), json: request },
      options,
    );
  }

  /**
   * Deletes an organization, as its owner or as the operator: its tokens end, and its members are members no more. Code
   * `organization_not_empty` while it has sandboxes or machines.
   */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: "DELETE", path: organizationPath(id) }, options);
  }

  /** As the operator: what any organization may do and hold, how much of it is taken, and what was set for it. */
  limits(id: string, options: CallOptions = {}): Promise<OrganizationLimitsReport> {
    return this.#http.json<OrganizationLimitsReport>(
      { method: "GET", path: organizationLimitsPath(id) },
      options,
    );
  }

  /** As the operator: sets what is named, such as `quota_sandboxes` or `rate_read_burst`; null takes the installation's setting again. */
  setLimits(
    id: string,
    changes: LimitsChangeRequest,
    options: CallOptions = {},
  ): Promise<OrganizationLimitsReport> {
    return this.#http.json<OrganizationLimitsReport>(
      { method: "PATCH", path: organizationLimitsPath(id), json: changes },
      options,
    );
  }

  /** Every member, newest users first. */
  members(id: string, options: CallOptions = {}): AsyncGenerator<Member, void> {
    return everyItem((cursor) => this.memberPage(id, { cursor }, options));
  }

  /** One page of the members. */
  memberPage(id: string, query: PageOptions = {}, options: CallOptions = {}): Promise<Page<Member>> {
    return this.#http.json<Page<Member>>(
      { method: "GET", path: membersPath(id), query: pageQuery(query) },
      options,
    );
  }

  /**
   * Adds a member: new with a `name`, or known with a `user_id`. `token.token` of the answer is a secret for the new member to work
   * with, and is shown this once; it has the scopes of your token and ends with it.
   */
  addMember(id: string, request: MemberAddRequest, options: CallOptions = {}): Promise<MemberAdded> {
    return this.#http.json<MemberAdded>(
      { method: "POST", path: membersPath(id), json: request, creates: true },
      options,
    );
  }

  /** A member cannot give, change or take a role above their own: code `forbidden`; the last owner stays: code `last_owner`. */
  setRole(id: string, userId: string, role: Role, options: CallOptions = {}): Promise<Member> {
    return this.#http.json<Member>(
      { method: "PATCH", path: memberPath(id, userId), json: { role } },
      options,
    );
  }

  /** The member's tokens in the organization end with it. */
  async removeMember(id: string, userId: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: "DELETE", path: memberPath(id, userId) }, options);
  }
}
