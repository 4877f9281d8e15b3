// Who may do what. A call needs a scope, which its token must have, and a role, which the token's user must have in the
// organization that the call is for. Both count: a token never does more than its user may at that moment.

import { hasRole, type Role } from "./roles.ts";

/** What a token can be limited to. `*` is everything that its user may, now and later. */
export const scopes = [
  "sandboxes:read",
  "sandboxes:write",
  "sandboxes:execute",
  "machines:read",
  "machines:write",
  "machines:execute",
  "apps:read",
  "apps:write",
  "templates:read",
  "templates:write",
  "secrets:read",
  "secrets:write",
  "tokens:read",
  "tokens:write",
  "org:read",
  "org:write",
  "audit:read",
  "hosts:read",
  "hosts:write",
  "metrics:read",
  "platform:write",
  "*",
] as const;
export type Scope = (typeof scopes)[number];

/** A scope that a call can need. */
export type NeededScope = Exclude<Scope, "*">;

/** The lowest role that can use a scope. A viewer reads; that it may end its own tokens is no right over anything else. */
export const lowestRole: Readonly<Record<NeededScope, Role>> = {
  "sandboxes:read": "viewer",
  "sandboxes:write": "member",
  "sandboxes:execute": "member",
  "machines:read": "viewer",
  "machines:write": "member",
  "machines:execute": "member",
  "apps:read": "viewer",
  "apps:write": "member",
  "templates:read": "viewer",
  "templates:write": "member",
  "secrets:read": "viewer",
  "secrets:write": "member",
  "tokens:read": "viewer",
  "tokens:write": "viewer",
  "org:read": "viewer",
  "org:write": "admin",
  "audit:read": "admin",
  "hosts:read": "viewer",
  "hosts:write": "admin",
  "metrics:read": "viewer",
  "platform:write": "admin",
};

/**
 * Scopes over what all organizations share. They count in the operator's organization only, which is the first one of an
 * installation: an owner elsewhere is owner of that organization and not of the platform.
 */
export const operatorScopes: readonly Scope[] = [
  "hosts:read",
  "hosts:write",
  "metrics:read",
  "platform:write",
];

/** What a token can really do in an organization: its scopes, cut down to what its user's role is good for there. */
export function usableScopes(
  granted: readonly Scope[],
  place: { readonly role: Role; readonly operator: boolean },
): ReadonlySet<Scope> {
  return new Set(
    scopes.filter((scope) => {
      if (scope === "*") return granted.includes("*");
      if (!granted.includes(scope) && !granted.includes("*")) return false;
      return hasRole(place.role, lowestRole[scope]) && (place.operator || !operatorScopes.includes(scope));
    }),
  );
}
