import { SESSION_MAX_S, type SessionCreateRequest } from "@skerry/contract/organizations/login";
import { SkerryError } from "@skerry/contract/errors";
import { callerOf, organizationInHeader } from "../api/authenticate-hook.ts";
import { countingFailures, takeVisitorTicket } from "../api/enforce-rate-limit.ts";
import { routes } from "../api/routes.ts";
import { authenticate, readCredentials } from "../auth/authenticate.ts";
import { ENDED_SESSION_COOKIE, isOwnPage, sessionCookie } from "../auth/session-cookie.ts";
import type { Context } from "../context.ts";
import { describeCaller } from "../organizations/organizations.ts";
import { endSession, mintSession } from "../organizations/login-tokens.ts";
import { AddressTickets } from "../rate-limits/address-tickets.ts";
import { AuthFailures } from "../rate-limits/auth-failures.ts";
import { browserName } from "./browser-name.ts";
import {
  describeLoginCode,
  digestOf,
  mintLoginCode,
  spendLoginCode,
  type Credentials,
} from "./login-codes.ts";
import { loginOperations } from "./login-operations.ts";

export const loginRoutes = routes(loginOperations, (context) => {
  const attempts = new AuthFailures(context.limits.authFailuresPerMinute);
  const tickets = new AddressTickets(context.limits.visitorsPerMinute);
  return {
    createSession: async (request, reply) => {
      if (!isOwnPage(request)) throw notOwnPage();
      takeVisitorTicket(tickets, request);
      const { secretSha256, find } = proofIn(request.body, organizationInHeader(request));
      const attempt = { address: request.ip, proof: secretSha256 };
      const caller = await countingFailures(attempts, attempt, async () =>
        authenticate(context, await find(context)),
      );
      const { id, token } = await mintSession(context, caller, {
        name: `browser: ${browserName(request.headers)}`,
        address: request.ip,
        requestId: request.id,
      });
      void reply.header("set-cookie", sessionCookie(token, SESSION_MAX_S));
      return describeCaller(context, { ...caller, tokenId: id });
    },
    describeLoginCode: async (request) => {
      takeVisitorTicket(tickets, request);
      const { code } = request.body;
      const attempt = { address: request.ip, proof: digestOf(code) };
      return countingFailures(attempts, attempt, () => describeLoginCode(context, code));
    },
    createLoginCode: (request) => mintLoginCode(context, callerOf(request)),
    endSession: async (request, reply) => {
      await endSession(context, callerOf(request));
      void reply.header("set-cookie", ENDED_SESSION_COOKIE);
    },
  };
});

/** What a browser logs in with: the hash of what it has sent, and how the token is found for which that stands. */
interface Proof {
  readonly secretSha256: string;
  readonly find: (context: Context) => Promise<Credentials>;
}

function proofIn({ token, code }: SessionCreateRequest, orgId: string | undefined): Proof {
  if ((token === undefined) === (code === undefined)) throw oneOfBoth();
  if (code !== undefined) return { secretSha256: digestOf(code), find: ({ db }) => spendLoginCode(db, code) };
  const credentials = readCredentials(token, orgId);
  return { secretSha256: credentials.secretSha256, find: async () => credentials };
}

function oneOfBoth(): SkerryError {
  return new SkerryError("bad_request", "A login is by `token` or by `code`: send one of the two.", {
    remediation: "`skerry open` logs a browser in by a code; the form at `/ui/` takes a token.",
  });
}

/** Another page could log its visitor in as another user, and elsewhere the cookie would never count. */
function notOwnPage(): SkerryError {
  return new SkerryError("forbidden", "Only a page of this server can log in.", {
    remediation:
      "Open the page over HTTPS, or on the machine itself as `http://127.0.0.1:7070`: browsers say nowhere else which page asks. Programs need no session; they send their token.",
  });
}
