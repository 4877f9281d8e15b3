import type { FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { sessionSecretOf } from "../auth/session-cookie.ts";
import { takeVisitorTicket } from "../api/enforce-rate-limit.ts";
import { routes } from "../api/routes.ts";
import { AddressTickets } from "../rate-limits/address-tickets.ts";
import type { Asset, DashboardFiles, Encoding } from "./dashboard-files.ts";
import { dashboardOperations } from "./dashboard-operations.ts";

/** Our own files and nothing else: no script or style in the page itself, no other origin, no form, no frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const pageHeaders = {
  // Kept, and asked for again before each use: the next version has the same address.
  "cache-control": "no-cache",
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
} as const;

/** A year: another content has another name. */
const IMMUTABLE = "public, max-age=31536000, immutable";

export const dashboardRoutes = routes(dashboardOperations, ({ dashboard, limits }) => {
  const tickets = new AddressTickets(limits.visitorsPerMinute);
  const taken = (request: FastifyRequest): DashboardFiles => {
    takeVisitorTicket(tickets, request);
    return dashboard ?? noDashboard();
  };
  return {
    getDashboardRoot: (request, reply) => {
      taken(request);
      // Relative, so that it also leads there behind a proxy that has put us below a path of its own.
      return reply.redirect("ui/", 303);
    },
    getDashboard: (request, reply) => {
      const { page, etag } = taken(request);
      // A file that is gone must not come as a page.
      const path = request.params["*"];
      if (path.startsWith("assets/")) noSuchFile();
      if (LOGIN_PATH.test(path) && isLedByOthers(request)) return reply.redirect(withoutCode(path), 303);
      void reply.headers({ ...pageHeaders, etag, vary: "Accept-Encoding" });
      if (isKnown(request.headers["if-none-match"], etag)) return reply.code(304).send();
      return sendAsset(page, request, reply);
    },
    getDashboardSession: (request, reply) => {
      taken(request);
      const hasCookie = sessionSecretOf(request, { isUpgrade: false }) !== undefined;
      return reply.header("cache-control", "no-store").type("application/json").send(String(hasCookie));
    },
    getDashboardAsset: (request, reply) => {
      const asset = taken(request).assets.get(request.params.file) ?? noSuchFile();
      void reply.headers({ "cache-control": IMMUTABLE, vary: "Accept-Encoding" });
      return sendAsset(asset, request, reply);
    },
  };
});

/** Its address ends with a code that logs the browser in. */
const LOGIN_PATH = /^login\/*$/;

/**
 * A page of another origin has led the browser here, perhaps to have it logged in as that page's owner, who would see what its user does then. With
 * the redirect, whose address has an end of its own (not an empty one, which some browsers take for none), the code is gone. An address that was
 * typed, or opened by a program, comes from no page.
 */
function isLedByOthers({ headers }: FastifyRequest): boolean {
  return headers["sec-fetch-site"] === "cross-site" || headers["sec-fetch-site"] === "same-site";
}

/** The dashboard's beginning, from the login's path: relative, so that it also leads there behind a proxy that has put us below a path of its own. */
function withoutCode(path: string): string {
  return `./${"../".repeat(path.length - "login".length)}#login`;
}

function sendAsset(asset: Asset, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  void reply.type(asset.type);
  const found = [...asset.encoded].find(([encoding]) => takes(headers["accept-encoding"], encoding));
  if (found === undefined) return reply.send(asset.content);
  return reply.header("content-encoding", found[0]).send(found[1]);
}

/** Whether the client names the encoding, and not as one that it does not take. */
function takes(header: string | string[] | undefined, encoding: Encoding): boolean {
  const offers = [header ?? []].flat().flatMap((text) => text.split(","));
  return offers.some((offer) => {
    const [name = "", ...parameters] = offer.split(";").map((part) => part.trim().toLowerCase());
    return name === encoding && !parameters.some((one) => /^q=0(?:\.0*)?$/.test(one));
  });
}

/** Weak tags count: a proxy that compresses makes ours one. */
function isKnown(header: string | undefined, etag: string): boolean {
  const tags = (header ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}

function noDashboard(): never {
  throw new SkerryError(
    "not_found",
    "This server has no dashboard: it was turned off, or built without it.",
    {
      remediation:
        "Its operator leaves `SKERRY_DASHBOARD=off` out, or gets the files from `npm run build` or `npm run package`. The command line does all that the dashboard does.",
    },
  );
}

function noSuchFile(): never {
  throw new SkerryError("not_found", "The dashboard has no such file.", {
    remediation: "Load the page again: the server may have another version by now.",
  });
}
