import { SESSION_MAX_S } from "@skerry/contract/organizations/session";
import { SkerryError } from "@skerry/contract/errors";
import { callerOf, organizationInHeader } from "../api/authenticate-hook.ts";
import { countingFailures, takeVisitorTicket } from "../api/enforce-rate-limit.ts";
import { routes } from "../api/routes.ts";
import { authenticate, readCredentials } from "../auth/authenticate.ts";
import { ENDED_SESSION_COOKIE, isOwnPage, sessionCookie } from "../auth/session-cookie.ts";
import { describeCaller } from "../organizations/organizations.ts";
import { endSession, mintSession } from "../organizations/session-tokens.ts";
import { AddressTickets } from "../rate-limits/address-tickets.ts";
import { AuthFailures } from "../rate-limits/auth-failures.ts";
import { browserName } from "./browser-name.ts";
import { sessionOperations } from "./session-operations.ts";

export const sessionRoutes = routes(sessionOperations, (context) => {
  const attempts = new AuthFailures(context.limits.authFailuresPerMinute);
  const tickets = new AddressTickets(context.limits.visitorsPerMinute);
  return {
    createSession: async (request, reply) => {
      if (!isOwnPage(request)) throw notOwnPage();
      takeVisitorTicket(tickets, request);
      const credentials = readCredentials(request.body.token, organizationInHeader(request));
      const attempt = { address: request.ip, secretSha256: credentials.secretSha256 };
      const caller = await countingFailures(attempts, attempt, () => authenticate(context, credentials));
      const { id, token } = await mintSession(context, caller, {
        name: `browser: ${browserName(request.headers)}`,
        address: request.ip,
        requestId: request.id,
      });
      void reply.header("set-cookie", sessionCookie(token, SESSION_MAX_S));
      return describeCaller(context, { ...caller, tokenId: id });
    },
    endSession: async (request, reply) => {
      await endSession(context, callerOf(request));
      void reply.header("set-cookie", ENDED_SESSION_COOKIE);
    },
  };
});

/** Another page could log its visitor in as somebody else, and elsewhere the cookie would never count. */
function notOwnPage(): SkerryError {
  return new SkerryError("forbidden", "Only a page of this server can log in.", {
    remediation:
      "Open the page over HTTPS, or on the machine itself as `http://127.0.0.1:7070`: browsers say nowhere else which page asks. Programs need no session; they send their token.",
  });
}
