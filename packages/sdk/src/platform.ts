// What the server offers: templates to create sandboxes from, and the sizes they come in.

import type { SizeList } from "@skerry/contract/platform/size-list";
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

/** `memory_mib` is in MiB; `cpu` says whether the CPUs are shared with others. */
export type Size = SizeList["items"][number];

export class Sizes {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async list(options: CallOptions = {}): Promise<readonly Size[]> {
    const { items } = await this.#http.json<SizeList>({ method: "GET", path: "/v1/sizes" }, options);
    return items;
  }
}
