import {
  BuiltInParams,
  FreezeTemplate,
  SealVm,
  SendLayers,
  TemplateImage,
  TemplateLayerParams,
  TemplateParams,
} from "@skerry/contract/host-api/templates";
import { FetchLayer, StoreLayer } from "@skerry/contract/host-api/stored-layers";
import type { Host } from "../app/host.ts";
import { VmParams, type HostServer } from "./conventions.ts";
import { leftBy } from "./left-by.ts";
import { ticketOf } from "./moves.ts";

/** As many URLs as a layer has pieces. */
const FETCH_BODY_MAX_BYTES = 40 * 1024 ** 2;

export function registerTemplates(
  server: HostServer,
  { seals, storedLayers, templates, library }: Host,
): void {
  server.post("/vms/:id/seal", { schema: { params: VmParams, body: SealVm } }, (request) =>
    seals.seal(request.params.id, request.body),
  );

  server.get("/templates", () => ({ items: templates.list() }));

  server.post("/built-in/:name/prepare", { schema: { params: BuiltInParams } }, (request, reply) => {
    library.prepare(request.params.name);
    return reply.status(204).send();
  });

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

  server.post("/layers/store", { schema: { body: StoreLayer } }, (request, reply) =>
    storedLayers.store(request.body, leftBy(reply.raw)),
  );

  server.post(
    "/layers/fetch",
    { bodyLimit: FETCH_BODY_MAX_BYTES, schema: { body: FetchLayer } },
    async (request, reply) => {
      await storedLayers.fetch(request.body, leftBy(reply.raw));
      return reply.status(204).send();
    },
  );

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
