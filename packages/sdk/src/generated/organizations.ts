// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { LimitsChangeRequest, OrganizationLimitsReport } from "@skerry/contract/limits/limits-report";
import type {
  Member,
  MemberAddRequest,
  MemberAdded,
  MemberUpdateRequest,
  Organization,
  OrganizationCreateRequest,
  OrganizationUpdateRequest,
} from "@skerry/contract/organizations/organization";
import { keyHeader, type CallOptions, type CreateOptions, type HttpClient } from "../http/http.ts";
import { everyItem, type Page, type PageOptions } from "../http/pages.ts";
import { segment } from "../http/paths.ts";

export class Organizations {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * Create an organization. You are its first owner.
   *
   * Only tokens of the operator's organization, the first one of an installation, can have the
   * scope.
   *
   * Needs the scope `platform:write`.
   */
  create(request: OrganizationCreateRequest, options: CreateOptions = {}): Promise<Organization> {
    return this.http.json<Organization>(
      { method: "POST", path: "/v1/orgs", json: request, headers: keyHeader(options), creates: true },
      options,
    );
  }

  /**
   * List organizations. Those that you are a member of, newest first.
   *
   * Needs the scope `org:read`.
   */
  list(options: CallOptions = {}): AsyncGenerator<Organization, void> {
    return everyItem((cursor) => this.page({ cursor }, options));
  }

  /** Reads one page of `list`. */
  page(query: PageOptions = {}, options: CallOptions = {}): Promise<Page<Organization>> {
    return this.http.json<Page<Organization>>(
      { method: "GET", path: "/v1/orgs", query: { ...query } },
      options,
    );
  }

  /**
   * Get an organization.
   *
   * Needs the scope `org:read`.
   */
  get(id: string, options: CallOptions = {}): Promise<Organization> {
    return this.http.json<Organization>({ method: "GET", path: `/v1/orgs/${segment(id)}` }, options);
  }

  /**
   * Change an organization. What is not named stays.
   *
   * Needs the scope `org:write`.
   */
  update(id: string, changes: OrganizationUpdateRequest, options: CallOptions = {}): Promise<Organization> {
    return this.http.json<Organization>(
      { method: "PATCH", path: `/v1/orgs/${segment(id)}`, json: changes },
      options,
    );
  }

  /**
   * Delete an organization. Its sandboxes and machines must be destroyed before. Its tokens end,
   * and its members are members no more; its audit log is kept. An owner may, and the operator of
   * the platform with the scope `platform:write`. The operator's own organization cannot be
   * deleted.
   *
   * Needs the scope `org:write`.
   *
   * Errors of its own: `organization_not_empty`, `operator_organization`.
   */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.http.done({ method: "DELETE", path: `/v1/orgs/${segment(id)}` }, options);
  }

  /**
   * List members. The members of an organization, newest users first.
   *
   * Needs the scope `org:read`.
   */
  members(id: string, options: CallOptions = {}): AsyncGenerator<Member, void> {
    return everyItem((cursor) => this.membersPage(id, { cursor }, options));
  }

  /** Reads one page of `members`. */
  membersPage(id: string, query: PageOptions = {}, options: CallOptions = {}): Promise<Page<Member>> {
    return this.http.json<Page<Member>>(
      { method: "GET", path: `/v1/orgs/${segment(id)}/members`, query: { ...query } },
      options,
    );
  }

  /**
   * Add a member. New or known. The answer has a first token to hand over.
   *
   * Needs the scope `org:write`.
   *
   * Errors of its own: `invalid_duration`, `timeout_too_long`, `user_not_found`, `already_member`,
   * `quota_exceeded`.
   */
  addMember(id: string, request: MemberAddRequest, options: CreateOptions = {}): Promise<MemberAdded> {
    return this.http.json<MemberAdded>(
      {
        method: "POST",
        path: `/v1/orgs/${segment(id)}/members`,
        json: request,
        headers: keyHeader(options),
        creates: true,
      },
      options,
    );
  }

  /**
   * Change the role of a member.
   *
   * Needs the scope `org:write`.
   *
   * Errors of its own: `member_not_found`, `last_owner`.
   */
  updateMember(
    id: string,
    userId: string,
    changes: MemberUpdateRequest,
    options: CallOptions = {},
  ): Promise<Member> {
    return this.http.json<Member>(
      { method: "PATCH", path: `/v1/orgs/${segment(id)}/members/${segment(userId)}`, json: changes },
      options,
    );
  }

  /**
   * Remove a member. The member's tokens in this organization end.
   *
   * Needs the scope `org:write`.
   *
   * Errors of its own: `member_not_found`, `last_owner`.
   */
  async removeMember(id: string, userId: string, options: CallOptions = {}): Promise<void> {
    await this.http.done(
      { method: "DELETE", path: `/v1/orgs/${segment(id)}/members/${segment(userId)}` },
      options,
    );
  }

  /**
   * Show the limits of one organization. As the operator: its limits, what of them is taken, and
   * what was set for it.
   *
   * Only tokens of the operator's organization, the first one of an installation, can have the
   * scope.
   *
   * Needs the scope `platform:write`.
   */
  limits(id: string, options: CallOptions = {}): Promise<OrganizationLimitsReport> {
    return this.http.json<OrganizationLimitsReport>(
      { method: "GET", path: `/v1/orgs/${segment(id)}/limits` },
      options,
    );
  }

  /**
   * Change the limits of one organization. As the operator: what it may do and hold. What is not
   * named stays.
   *
   * It counts from the next request on. What the organization holds already it keeps, also where
   * that is more than a quota then allows. Only tokens of the operator's organization, the first
   * one of an installation, can have the scope.
   *
   * Needs the scope `platform:write`.
   */
  setLimits(
    id: string,
    changes: LimitsChangeRequest,
    options: CallOptions = {},
  ): Promise<OrganizationLimitsReport> {
    return this.http.json<OrganizationLimitsReport>(
      { method: "PATCH", path: `/v1/orgs/${segment(id)}/limits`, json: changes },
      options,
    );
  }
}
