import type { FastifyInstance, HTTPMethods } from "fastify";
import { SkerryError } from "@skerry/contract/errors";

const METHODS: readonly HTTPMethods[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

const PERMANENT_REDIRECT = 308;

function withSlash(url: string): string {
  const [path = ""] = url.split("?", 1);
  return `${path}/${url.slice(path.length)}`;
}

/** Answers 405 where a path exists but not with this method. Call before the routes are registered. */
export function answerMethodNotAllowed(app: FastifyInstance): (scope: FastifyInstance) => void {
  const known = new Map<string, Set<HTTPMethods>>();
  app.addHook("onRoute", (route) => {
    const methods = known.get(route.url) ?? new Set();
    known.set(route.url, methods);
    for (const method of [route.method].flat()) methods.add(method as HTTPMethods);
  });
  return (scope) => {
    // Bodies are not read: no token was asked for.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _body, done) => done(null));
    for (const [url, methods] of [...known]) {
      if (METHODS.every((method) => methods.has(method))) continue;
      const allow = [...methods].join(", ");
      scope.route({
        url,
        method: METHODS.filter((method) => !methods.has(method)),
        schema: { hide: true },
        config: { skerry: "refusal" },
        handler: (request, reply) => {
          // Paths below take every method, as a guest's pages do, and the user has left out the slash. 308
          // keeps the method.
          if (known.get(`${url}/*`)?.has(request.method as HTTPMethods) === true)
            return reply.redirect(withSlash(request.raw.url ?? ""), PERMANENT_REDIRECT);
          void reply.header("allow", allow);
          throw new SkerryError("method_not_allowed", `${request.method} is not possible on this path.`, {
            remediation: `Use one of: ${allow}.`,
          });
        },
      });
    }
  };
}
