import type { KeptOutput } from "@skerry/contract/vms/kept-execution";
import { GeneratedExecutions } from "../../generated/executions.ts";
import type { CallOptions } from "../../http/http.ts";
import { segment } from "../../http/paths.ts";

export interface KeptOutputOptions extends CallOptions {
  /**
   * `base64`: `stdout` and `stderr` are the exact bytes. Default: text, in which bytes that are not UTF-8
   * become U+FFFD.
   */
  readonly encoding?: "utf8" | "base64" | undefined;
}

/**
 * Commands that were started with `keep_output` or `destroy_sandbox`: while they run, and for a day after
 * their end.
 */
export class KeptExecutions extends GeneratedExecutions {
  /** With its output. Code `execution_not_found` where there is none, or where it ended long ago. */
  get(id: string, { encoding, ...options }: KeptOutputOptions = {}): Promise<KeptOutput> {
    const call = { method: "GET", path: `/v1/executions/${segment(id)}`, query: { encoding } } as const;
    return this.http.json<KeptOutput>(call, options);
  }
}
