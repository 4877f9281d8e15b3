// Builds of templates: how far they are, and what they print.

import type { Build } from "@skerry/contract/builds/build";
import type { BuildLog, BuildLogLine } from "@skerry/contract/builds/build-log";
import { errorOfEvent, errorOfStream, SkerryConnectionError } from "../errors/errors.ts";
import { readEvents } from "../http/event-stream.ts";
import { bytesToSend, type UploadContent } from "../vms/files/files.ts";
import { GeneratedBuilds } from "../generated/builds.ts";
import type { CallOptions } from "../http/http.ts";
import { buildPath, segment } from "../http/paths.ts";

export interface BuildLogOptions extends CallOptions {
  /** Only lines after this one. */
  readonly after?: number | undefined;
}

/** Builds of the organization. `templates.build()` begins one. */
export class Builds extends GeneratedBuilds {
  /** Sends the context of a build that waits for it: a tar archive, not compressed and of at most 2 GiB. */
  sendContext(id: string, archive: UploadContent, { signal }: CallOptions = {}): Promise<Build> {
    const call = { method: "PUT", path: `${buildPath(id)}/context`, ...bytesToSend(archive) } as const;
    return this.http.json<Build>(call, { signal });
  }

  /** Gives a secret of at most 64 KiB to a build that waits for its context, for `RUN --mount=type=secret,id=NAME` of its Dockerfile. */
  sendSecret(id: string, name: string, value: string, { signal }: CallOptions = {}): Promise<void> {
    const call = {
      method: "PUT",
      path: `${buildPath(id)}/secrets/${segment(name)}`,
      ...bytesToSend(value),
    } as const;
    return this.http.done(call, { signal });
  }

  /** Up to 1,000 lines of its log. */
  log(id: string, { after, signal }: BuildLogOptions = {}): Promise<BuildLog> {
    const query = { after: after?.toString() };
    return this.http.json<BuildLog>({ method: "GET", path: `${buildPath(id)}/logs`, query }, { signal });
  }

  /** The lines of its log, and each one as it comes, until the build has ended. */
  async *followLog(id: string, { after, signal }: BuildLogOptions = {}): AsyncGenerator<BuildLogLine, void> {
    const query = { after: after?.toString(), follow: "true" };
    const headers = { accept: "text/event-stream" };
    const request = { method: "GET", path: `${buildPath(id)}/logs`, query, headers } as const;
    const chunks = await this.http.open(request, { signal });
    try {
      for await (const { event, data } of readEvents(chunks)) {
        if (event === "line") yield JSON.parse(data) as BuildLogLine;
        if (event === "error")
          throw errorOfEvent(JSON.parse(data)) ?? new TypeError("an error without a code");
        if (event === "end") return;
      }
    } catch (error) {
      throw errorOfStream(error, this.http.baseUrl);
    }
    const message = `The connection to ${this.http.baseUrl} ended before the log did.`;
    throw new SkerryConnectionError(this.http.baseUrl, message);
  }
}
