// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { SizeInfo, SizeList } from "@skerry/contract/platform/size-list";
import type { CallOptions, HttpClient } from "../http/http.ts";

export class Sizes {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List sizes. The sizes that a microVM can have.
   *
   * Needs the scope `templates:read`.
   */
  async list(options: CallOptions = {}): Promise<SizeInfo[]> {
    return (await this.http.json<SizeList>({ method: "GET", path: "/v1/sizes" }, options)).items;
  }
}
