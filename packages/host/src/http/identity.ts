import { CertificateRequestQuery, HostCertificate } from "@skerry/contract/joining/host-certificate";
import type { Host } from "../app/host.ts";
import { isLocal } from "./callers.ts";
import type { HostServer } from "./conventions.ts";

export function registerIdentity(server: HostServer, { identity }: Host): void {
  server.post("/identity/request", { schema: { querystring: CertificateRequestQuery } }, (request) =>
    identity.request(request.query.key),
  );

  server.put("/identity", { schema: { body: HostCertificate } }, async (request, reply) => {
    await identity.install(request.body, { mayChange: isLocal(request) });
    return reply.status(204).send();
  });
}
