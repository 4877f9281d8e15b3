import { sizes } from "@skerry/contract/sizes";
import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { deleteTemplate } from "./delete-template.ts";
import { tagTemplate, untagTemplate } from "./own-templates.ts";
import { prepareTemplate } from "./prepare-template.ts";
import { templateOperations } from "./template-operations.ts";
import { getTemplate, listTemplates } from "./templates.ts";

export const templateRoutes = routes(templateOperations, (context) => ({
  listSizes: () => ({ items: [...sizes] }),
  listTemplates: async (request) => ({ items: await listTemplates(context, callerOf(request)) }),
  getTemplate: (request) => getTemplate(context, callerOf(request), request.params.template),
  prepareTemplate: (request) => prepareTemplate(context, callerOf(request), request.params.template),
  deleteTemplate: (request) => deleteTemplate(context, callerOf(request), request.params.template),
  tagTemplate: (request) => {
    const { name, tag } = request.params;
    return tagTemplate(context, callerOf(request), { name, tag, template: request.body.template });
  },
  untagTemplate: (request) => {
    const { name, tag } = request.params;
    return untagTemplate(context, callerOf(request), { name, tag });
  },
}));
