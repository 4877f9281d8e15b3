// Templates to create sandboxes from.

import type { Template, TemplateList } from "@skerry/contract/templates/template";
import type { CallOptions, HttpClient } from "./http.ts";
import { templatePath } from "./paths.ts";

export class Templates {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async list(options: CallOptions = {}): Promise<readonly Template[]> {
    const { items } = await this.#http.json<TemplateList>({ method: "GET", path: "/v1/templates" }, options);
    return items;
  }

  /** By name or id; code `template_not_found` where there is none. */
  get(nameOrId: string, options: CallOptions = {}): Promise<Template> {
    return this.#http.json<Template>({ method: "GET", path: templatePath(nameOrId) }, options);
  }
}
