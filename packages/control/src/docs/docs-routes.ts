// The API for programs and for people. The page holds no tenant's data, so it needs no token; the document for programs does.

import { createHash } from "node:crypto";
import { routes } from "../api/routes.ts";
import { docsOperations, openapiOperations } from "./docs-operations.ts";
import { docsPage, type Json } from "./docs-page.ts";
import { docsStyle } from "./docs-style.ts";

export const openapiRoutes = routes(openapiOperations, () => {
  // Written once: it is the same for everybody, and large.
  let text: string | undefined;
  return {
    getOpenapi: (request, reply) => {
      text ??= JSON.stringify(request.server.swagger());
      return reply.type("application/json; charset=utf-8").serializer(asItIs).send(text);
    },
  };
});

function asItIs(text: string): string {
  return text;
}

const STYLE_HASH = createHash("sha256").update(docsStyle).digest("base64");
/** Our one style and nothing else: no script, no picture, no form, no other origin. */
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export const docsRoutes = routes(docsOperations, () => {
  // Written once, at the first request: by then all routes are known.
  let page: string | undefined;
  return {
    getDocs: (request, reply) => {
      page ??= docsPage(request.server.swagger() as unknown as Json);
      return reply.type("text/html; charset=utf-8").header("content-security-policy", POLICY).send(page);
    },
  };
});
