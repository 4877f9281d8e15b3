// The sizes that sandboxes and machines come in.

import type { SizeList } from "@skerry/contract/platform/size-list";
import type { CallOptions, HttpClient } from "../http/http.ts";

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
