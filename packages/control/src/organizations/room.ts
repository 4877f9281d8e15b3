import { endedTokens } from "./ended-tokens.ts";
import { sweepUsers } from "./sweep-users.ts";
import { sweepSessions } from "./token-store.ts";
import type { Manifest } from "../manifest.ts";
import { tokenRoutes } from "./token-routes.ts";
import { organizationRoutes } from "./organization-routes.ts";
import { memberRoutes } from "./member-routes.ts";
import { auditRoutes } from "./audit-routes.ts";

export const organizationsRoom = {
  routes: [tokenRoutes, organizationRoutes, memberRoutes, auditRoutes],
  ownActs: ["organization.private_cidrs", "session.create"],
  kept: { endedTokens },
  // A user is forgotten with the last of their tokens.
  sweeps: { sweepSessions, sweepUsers },
} satisfies Manifest;
