// Apps by id or name: groups of instances that run a release.

import type {
  AppLogLine,
  AppLogReset,
  AppLogs,
  AppLogsQuery,
  AppLogsSynced,
} from "@skerry/contract/apps/app-logs";
import { SkerryApiError } from "../errors/api-errors.ts";
import { errorOfEvent, errorOfStream, SkerryConnectionError } from "../errors/errors.ts";
import { GeneratedApps } from "../generated/apps.ts";
import { readEvents } from "../http/event-stream.ts";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { segment } from "../http/paths.ts";
import { pause } from "../http/retries.ts";

export type AppLogOptions = CallOptions & Omit<AppLogsQuery, "follow" | "after">;

export type FollowAppLogOptions = Omit<AppLogOptions, "until"> & {
  /** Goes on behind this cursor of an earlier `synced`, in the place of the last lines. */
  readonly after?: string;
  /**
   * Told at the beginning and every 15 s: up to which cursor all lines were given, and whose host is away.
   */
  readonly onSynced?: (synced: AppLogsSynced) => void;
};

const FIRST_PAUSE_MS = 250;
const PAUSE_MAX_MS = 30_000;

export class Apps extends GeneratedApps {
  /** Lines of all its instances by time, also of those that are gone. */
  logs(id: string, { signal, ...query }: AppLogOptions = {}): Promise<AppLogs> {
    return this.http.json<AppLogs>({ method: "GET", path: logPath(id), query: textsOf(query) }, { signal });
  }

  /**
   * The last lines and then each one as it comes, over deploys, broken connections and restarts of the
   * server, each once. Ends when the app is gone. Throws what does not pass by itself, and what the first
   * request fails with.
   */
  async *followLogs(
    id: string,
    { signal, after, onSynced, ...query }: FollowAppLogOptions = {},
  ): AsyncGenerator<AppLogLine, void> {
    const seen = new Seen(after);
    for (let failures = 0; ; failures += 1) {
      const follow = { ...textsOf(query), follow: "true", after: seen.cursor };
      try {
        for await (const told of streamOnce(this.http, { id, query: follow }, { signal })) {
          if (told.event === "end") return;
          if (told.event === "reset") seen.synced(told.data.cursor);
          else failures = 0;
          if (told.event === "synced") {
            seen.synced(told.data.cursor);
            onSynced?.(told.data);
          }
          if (told.event !== "line") continue;
          seen.line(told.data);
          yield told.data;
        }
      } catch (error) {
        if (seen.cursor === undefined || !isPassing(error)) throw error;
      }
      // Half of it by chance, so that clients that failed together do not come back together.
      const waitMs = Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10));
      await pause(waitMs * (0.5 + Math.random() / 2), signal);
    }
  }
}

/** Where a follower goes on: the last cursor, and the places of lines that came after it. */
class Seen {
  #cursor: string | undefined;
  readonly #places = new Map<string, string>();

  constructor(cursor: string | undefined) {
    this.#cursor = cursor;
  }

  /** Undefined before the first one: lines that came before it would come once more. */
  get cursor(): string | undefined {
    const places = [...this.#places].map(([machine, place]) => `,${machine}:${place}`);
    return this.#cursor === undefined ? undefined : this.#cursor + places.join("");
  }

  synced(cursor: string): void {
    this.#cursor = cursor;
    this.#places.clear();
  }

  line({ machine_id: machine, position }: AppLogLine): void {
    this.#places.set(machine, position);
  }
}

function logPath(id: string): string {
  return `/v1/apps/${segment(id)}/logs`;
}

function textsOf(query: Omit<AppLogsQuery, "follow" | "after">): Record<string, string> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

type Told =
  | { readonly event: "line"; readonly data: AppLogLine }
  | { readonly event: "synced"; readonly data: AppLogsSynced }
  | { readonly event: "reset"; readonly data: AppLogReset }
  | { readonly event: "end" };

async function* streamOnce(
  http: HttpClient,
  { id, query }: { readonly id: string; readonly query: Readonly<Record<string, string | undefined>> },
  { signal }: CallOptions,
): AsyncGenerator<Told, void> {
  const headers = { accept: "text/event-stream" };
  const chunks = await http.open({ method: "GET", path: logPath(id), query, headers }, { signal });
  try {
    for await (const { event, data } of readEvents(chunks)) {
      const told = JSON.parse(data) as unknown;
      if (event === "error") throw errorOfEvent(told) ?? new TypeError("an error without a code");
      // The server's word for it; the client does not validate. A newer server may add events.
      if (event === "line" || event === "synced" || event === "reset" || event === "end")
        yield { event, data: told } as Told;
    }
  } catch (error) {
    throw errorOfStream(error, http.baseUrl);
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof SkerryConnectionError) return true;
  return error instanceof SkerryApiError && (error.status >= 500 || error.status === 429);
}
