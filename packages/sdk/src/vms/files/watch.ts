import type { FileEvent } from "@skerry/contract/vms/watches";
import { errorOfEvent, errorOfStream, SkerryConnectionError } from "../../errors/errors.ts";
import { readEvents } from "../../http/event-stream.ts";
import type { CallOptions, HttpClient } from "../../http/http.ts";

export interface WatchOptions extends CallOptions {
  /** Also the directories below it, those that come later too; 8,192 at most. Default: false. */
  readonly recursive?: boolean | undefined;
}

/** What changes in the directory at this path of the API. */
export async function* watchAt(
  http: HttpClient,
  path: string,
  { recursive, signal }: WatchOptions,
): AsyncGenerator<FileEvent, void> {
  const query = { recursive: recursive?.toString() };
  const headers = { accept: "text/event-stream" };
  const chunks = await http.open({ method: "GET", path, query, headers }, { signal });
  try {
    for await (const { event, data } of readEvents(chunks)) {
      if (event === "end") return;
      if (event === "error") throw errorOfEvent(JSON.parse(data)) ?? new TypeError("an error without a code");
      // The server's word for it; events that a newer one may add have no path.
      const told = JSON.parse(data) as FileEvent;
      if (typeof told.path === "string") yield told;
    }
  } catch (error) {
    throw errorOfStream(error, http.baseUrl);
  }
  throw new SkerryConnectionError(
    http.baseUrl,
    `The connection to ${http.baseUrl} ended before the watch did.`,
  );
}
