import { Type } from "typebox";
import { SizeList, Template, TemplateList } from "@skerry/contract/platform";
import { sizes } from "@skerry/contract/sizes";
import type { Context } from "../context.ts";
import { getTemplate, listTemplates } from "./template-service.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

/** What a sandbox can be made of: templates and sizes. */
export function templateRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.get(
      "/v1/sizes",
      {
        schema: {
          operationId: "listSizes",
          tags: ["templates"],
          summary: "The sizes that a microVM can have",
          response: { 200: ref(SizeList) },
        },
      },
      () => ({ items: [...sizes] }),
    );
    app.get(
      "/v1/templates",
      {
        schema: {
          operationId: "listTemplates",
          tags: ["templates"],
          summary: "The templates that sandboxes are cloned from",
          response: { 200: ref(TemplateList) },
        },
      },
      async () => ({ items: await listTemplates(context) }),
    );
    app.get(
      "/v1/templates/:template",
      {
        schema: {
          operationId: "getTemplate",
          tags: ["templates"],
          summary: "One template, by name or id",
          params: Type.Object({ template: Type.String() }),
          response: { 200: ref(Template) },
        },
      },
      (request) => getTemplate(context, request.params.template),
    );
    done();
  };
}
