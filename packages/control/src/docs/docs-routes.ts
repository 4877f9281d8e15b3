// GET /docs: the API for people. It holds nothing of anybody's, so it needs no token; the document for programs does.

import { createHash } from "node:crypto";
import { Type } from "typebox";
import { docsPage, type Json } from "./docs-page.ts";
import { docsStyle } from "./docs-style.ts";
import type { Routes } from "../http/routes.ts";

const STYLE_HASH = createHash("sha256").update(docsStyle).digest("base64");
/** Our one style and nothing else: no script, no picture, no form, no other origin. */
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export const docsRoutes: Routes = (app, _options, done) => {
  // Written once, when somebody first asks: by then all routes are known.
  let page: string | undefined;
  app.get(
    "/docs",
    {
      schema: {
        operationId: "getDocs",
        tags: ["platform"],
        summary: "This API as a page for people",
        response: {
          200: { description: "The page.", content: { "text/html": { schema: Type.String() } } },
        },
      },
    },
    async (_request, reply) => {
      page ??= docsPage(app.swagger() as unknown as Json);
      return reply.type("text/html; charset=utf-8").header("content-security-policy", POLICY).send(page);
    },
  );
  done();
};
