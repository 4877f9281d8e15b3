// Watches of directories in the VMs of fake hosts. They end at once, as where the directory is removed, but for those below `/kept`.

import type { ServerResponse } from "node:http";
import { SkerryError } from "@skerry/contract/errors";
import { encodeJson, frameTypes } from "@skerry/contract/frames";
import type { FileEvent } from "@skerry/contract/vms/watches";
import { FRAMES_CONTENT_TYPE } from "@skerry/contract/host-api/vm";

const STREAM = 1;

export class FakeWatches {
  readonly #open = new Map<string, Set<ServerResponse>>();

  count(path: string): number {
    return this.#open.get(path)?.size ?? 0;
  }

  serve(path: string, response: ServerResponse): void {
    if (path === "/none") throw new SkerryError("file_not_found", "There is no such directory.");
    response.writeHead(200, { "content-type": FRAMES_CONTENT_TYPE });
    response.write(encodeJson(frameTypes.head, STREAM, {}));
    if (!path.startsWith("/kept/")) return void response.end(encodeJson(frameTypes.close, STREAM, {}));
    const open = this.#open.get(path) ?? new Set();
    this.#open.set(path, open.add(response));
    response.once("close", () => open.delete(response));
  }

  tell(path: string, event: FileEvent | object): void {
    for (const response of this.#open.get(path) ?? [])
      response.write(encodeJson(frameTypes.data, STREAM, event));
  }

  /** The directory is gone, or an error of the host. */
  end(path: string, error?: SkerryError): void {
    for (const response of this.#open.get(path) ?? [])
      response.end(
        error === undefined
          ? encodeJson(frameTypes.close, STREAM, {})
          : encodeJson(frameTypes.reset, STREAM, error.toBody()),
      );
  }

  /** As where the host was killed. */
  cut(path: string): void {
    for (const response of this.#open.get(path) ?? []) response.destroy();
  }
}
