// Builds of templates: how far they are, and what they print.

import type { Build, BuildEgress, BuildListQuery } from "@skerry/contract/builds/build";
import type { BuildLog, BuildLogLine } from "@skerry/contract/builds/build-log";
import { errorOfEvent, errorOfStream, SkerryConnectionError } from "../errors/errors.ts";
import { readEvents } from "../http/event-stream.ts";
import { bytesToSend, type UploadContent } from "../vms/files/files.ts";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, pageQuery, type Page, type PageOptions } from "../http/pages.ts";
import { buildPath, buildSecretPath } from "../http/paths.ts";

export interface BuildFilter {
  readonly status?: NonNullable<BuildListQuery["status"]> | undefined;
  /** Of the template. */
  readonly name?: string | undefined;
}

export interface BuildLogOptions extends CallOptions {
  /** Only lines after this one. */
  readonly after?: number | undefined;
}

/** Builds of the organization. `templates.build()` begins one. */
export class Builds {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Code `build_not_found` where there is none, or where it belongs to another organization. */
  get(id: string, options: CallOptions = {}): Promise<Build> {
    return this.#http.json<Build>({ method: "GET", path: buildPath(id) }, options);
  }

  /** Every build that passes the filter, newest first, read page by page as you go. */
  list(filter: BuildFilter = {}, options: CallOptions = {}): AsyncGenerator<Build, void> {
    return everyItem((cursor) => this.page({ ...filter, cursor }, options));
  }

  /** One page of the list. */
  page(query: BuildFilter & PageOptions = {}, options: CallOptions = {}): Promise<Page<Build>> {
    const all = { ...pageQuery(query), status: query.status, name: query.name };
    return this.#http.json<Page<Build>>({ method: "GET", path: "/v1/builds", query: all }, options);
  }

  /** Sends the context of a build that waits for it: a tar archive, not compressed and of at most 2 GiB. */
  sendContext(id: string, archive: UploadContent, { signal }: CallOptions = {}): Promise<Build> {
    const call = { method: "PUT", path: `${buildPath(id)}/context`, ...bytesToSend(archive) } as const;
    return this.#http.json<Build>(call, { signal });
  }

  /** Gives a secret of at most 64 KiB to a build that waits for its context, for `RUN --mount=type=secret,id=NAME` of its Dockerfile. */
  sendSecret(id: string, name: string, value: string, { signal }: CallOptions = {}): Promise<void> {
    const call = { method: "PUT", path: buildSecretPath(id, name), ...bytesToSend(value) } as const;
    return this.#http.done(call, { signal });
  }

  /** Up to 1,000 lines of its log. */
  log(id: string, { after, signal }: BuildLogOptions = {}): Promise<BuildLog> {
    const query = { after: after?.toString() };
    return this.#http.json<BuildLog>({ method: "GET", path: `${buildPath(id)}/logs`, query }, { signal });
  }

  /** The lines of its log, and each one as it comes, until the build has ended. */
  async *followLog(id: string, { after, signal }: BuildLogOptions = {}): AsyncGenerator<BuildLogLine, void> {
    const query = { after: after?.toString(), follow: "true" };
    const headers = { accept: "text/event-stream" };
    const request = { method: "GET", path: `${buildPath(id)}/logs`, query, headers } as const;
    const chunks = await this.#http.open(request, { signal });
    try {
      for await (const { event, data } of readEvents(chunks)) {
        if (event === "line") yield JSON.parse(data) as BuildLogLine;
        if (event === "error")
          throw errorOfEvent(JSON.parse(data)) ?? new TypeError("an error without a code");
        if (event === "end") return;
      }
    } catch (error) {
      throw errorOfStream(error, this.#http.baseUrl);
    }
    const message = `The connection to ${this.#http.baseUrl} ended before the log did.`;
    throw new SkerryConnectionError(this.#http.baseUrl, message);
  }

  /** What it may reach, and the last destinations that it was denied, also after its end. */
  egress(id: string, options: CallOptions = {}): Promise<BuildEgress> {
    return this.#http.json<BuildEgress>({ method: "GET", path: `${buildPath(id)}/egress` }, options);
  }

  /** At once, whatever it is doing. One that has ended stays as it is. */
  cancel(id: string, options: CallOptions = {}): Promise<Build> {
    return this.#http.json<Build>({ method: "POST", path: `${buildPath(id)}/cancel` }, options);
  }

  /** A new build of the same request, for one that has ended. A context has to be sent again. */
  retry(id: string, options: CallOptions = {}): Promise<Build> {
    return this.#http.json<Build>({ method: "POST", path: `${buildPath(id)}/retry`, creates: true }, options);
  }
}
