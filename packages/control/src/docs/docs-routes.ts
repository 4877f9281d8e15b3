// The API for programs and for people. Both hold no tenant's data and say nothing of this installation, so they need no token.

import { createHash } from "node:crypto";
import { AppFile } from "@skerry/contract/apps/app-file";
import { takeDownloadTicket } from "../api/enforce-rate-limit.ts";
import { routes } from "../api/routes.ts";
import { AddressTickets } from "../rate-limits/address-tickets.ts";
import { docsOperations, openapiOperations } from "./docs-operations.ts";
import { docsPage, type Json } from "./docs-page.ts";
import { docsStyle } from "./docs-style.ts";

export const openapiRoutes = routes(openapiOperations, ({ limits }) => {
  const tickets = new AddressTickets(limits.downloadsPerMinute);
  // Written once: it is the same for everybody, and large.
  let text: string | undefined;
  return {
    getOpenapi: (request, reply) => {
      takeDownloadTicket(tickets, request);
      text ??= JSON.stringify(request.server.swagger());
      return reply.type("application/json; charset=utf-8").serializer(asItIs).send(text);
    },
  };
});

/** Relative, so that they also lead there behind a proxy that has put us below a path of its own. */
const places = { api: "v1", docs: "docs", openapi: "v1/openapi.json", installer: "install.sh" };

function asItIs(text: string): string {
  return text;
}

const STYLE_HASH = createHash("sha256").update(docsStyle).digest("base64");
/** Our one style and nothing else: no script, no picture, no form, no other origin. */
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export const docsRoutes = routes(docsOperations, ({ limits, dashboard }) => {
  const tickets = new AddressTickets(limits.downloadsPerMinute);
  // Written once, at the first request: by then all routes are known.
  let page: string | undefined;
  let schema: string | undefined;
  return {
    getRoot: ({ headers }, reply) => {
      void reply.header("vary", "Accept");
      if (headers.accept?.includes("text/html") === true) {
        return dashboard === undefined ? reply.redirect("docs") : reply.redirect("ui/", 303);
      }
      return reply
        .type("application/json; charset=utf-8")
        .serializer(asItIs)
        .send(JSON.stringify(dashboard === undefined ? places : { ...places, dashboard: "ui/" }));
    },
    getAppFileSchema: (request, reply) => {
      takeDownloadTicket(tickets, request);
      schema ??= JSON.stringify({ $schema: "https://json-schema.org/draft/2020-12/schema", ...AppFile });
      return reply.type("application/json; charset=utf-8").serializer(asItIs).send(schema);
    },
    getDocs: (request, reply) => {
      takeDownloadTicket(tickets, request);
      page ??= docsPage(request.server.swagger() as unknown as Json);
      return reply.type("text/html; charset=utf-8").header("content-security-policy", POLICY).send(page);
    },
  };
});
