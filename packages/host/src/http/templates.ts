import {
  FreezeTemplate,
  SealVm,
  SendLayers,
  TemplateImage,
  TemplateLayerParams,
  TemplateParams,
} from "@skerry/contract/host-api/templates";
import type { Host } from "../host.ts";
import { VmParams, type HostServer } from "./conventions.ts";
import { leftBy } from "./left-by.ts";
import { ticketOf } from "./moves.ts";

export function registerTemplates(server: HostServer, { seals, templates }: Host): void {
  server.post("/vms/:id/seal", { schema: { params: VmParams, body: SealVm } }, (request) =>
    seals.seal(request.params.id, request.body),
  );

  server.get("/templates", () => ({ items: templates.list() }));

  server.put("/templates/:id", { schema: { params: TemplateParams, body: TemplateImage } }, (request) =>
    templates.put(request.params.id, request.body),
  );

  server.post(
    "/templates/:id/freeze",
    { schema: { params: TemplateParams, body: FreezeTemplate } },
    async (request, reply) => {
      await templates.freeze(request.params.id, request.body.size);
      return reply.status(204).send();
    },
  );

  server.delete("/templates/:id", { schema: { params: TemplateParams } }, async (request, reply) => {
    await templates.delete(request.params.id);
    return reply.status(204).send();
  });

  server.post("/layers/send", { schema: { body: SendLayers } }, async (request, reply) => {
    await templates.send(request.body, leftBy(reply.raw));
    return reply.status(204).send();
  });

  server.put(
    "/templates/:id/layers/:digest",
    { config: { hostsMayCall: true }, schema: { params: TemplateLayerParams } },
    async (request, reply) => {
      const { id, digest } = request.params;
      await templates.receive(id, { digest, ticket: ticketOf(request.raw) }, request.raw);
      return reply.status(204).send();
    },
  );
}
