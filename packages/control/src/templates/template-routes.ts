import { sizes } from "@skerry/contract/sizes";
import { routes } from "../api/routes.ts";
import { templateOperations } from "./template-operations.ts";
import { getTemplate, listTemplates } from "./templates.ts";

export const templateRoutes = routes(templateOperations, (context) => ({
  listSizes: () => ({ items: [...sizes] }),
  listTemplates: async () => ({ items: await listTemplates(context) }),
  getTemplate: (request) => getTemplate(context, request.params.template),
}));
