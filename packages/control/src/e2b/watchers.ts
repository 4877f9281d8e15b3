// What changes in a directory of a sandbox, as E2B's clients are told it: as a stream, or by asking again and again, for which this process keeps it.

import { randomUUID } from "node:crypto";
import { posix } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { SkerryError } from "@skerry/contract/errors";
import type { FileEvent } from "@skerry/contract/vms/watches";
import type { Context } from "../context.ts";
import { watchFiles } from "../vms/watches/watch-files.ts";
import type { SandboxCall } from "./sandbox-call.ts";
import { encodedPathOf, entryAt, type EntryInfo } from "./entry-info.ts";
import { EventType, type FilesystemEventSchema } from "./wire/filesystem_pb.js";

type FilesystemEvent = MessageInitShape<typeof FilesystemEventSchema>;

interface Watch {
  readonly path: string;
  readonly recursive: boolean;
  readonly includeEntry: boolean;
}

const eventTypes: { readonly [Event in FileEvent["event"]]?: EventType } = {
  create: EventType.CREATE,
  write: EventType.WRITE,
  remove: EventType.REMOVE,
  rename: EventType.RENAME,
  chmod: EventType.CHMOD,
};

/** Resolves when it watches. The clients know no word for events that were lost, so those are only logged. */
export async function fileEvents(
  context: Context,
  call: SandboxCall,
  { path, recursive, includeEntry }: Watch,
): Promise<AsyncGenerator<FilesystemEvent>> {
  const params = { ...call, encodedPath: encodedPathOf(path), recursive };
  const events = await watchFiles(context, call.caller, params);
  // The first one says that it watches, or why it does not.
  await events.next();
  return (async function* () {
    for await (const { event, path: name } of events) {
      const type = eventTypes[event];
      if (event === "overflow")
        context.log.warn(
          { sandbox_id: call.id },
          "events of a directory were lost before its watcher had them",
        );
      if (type === undefined || name === "") continue;
      const entry = includeEntry ? await entryThere(context, call, posix.join(path, name)) : undefined;
      yield { name, type, ...(entry !== undefined && { entry }) };
    }
  })();
}

/** Undefined where it is not there any more. */
async function entryThere(context: Context, call: SandboxCall, path: string): Promise<EntryInfo | undefined> {
  try {
    return await entryAt(context, call, path);
  } catch (error) {
    if (error instanceof SkerryError && error.status < 500) return undefined;
    throw error;
  }
}

const EVENTS_MAX = 10_000;
/** One that no client has asked for so long is ended. */
const UNASKED_MS = 10 * 60_000;

interface Watcher {
  readonly orgId: string;
  readonly sandboxId: string;
  readonly stop: () => void;
  readonly timer: NodeJS.Timeout;
  events: FilesystemEvent[];
}

/** Watchers that clients ask for their events. They are kept by the process that has made them. */
class Watchers {
  readonly #context: Context;
  readonly #all = new Map<string, Watcher>();

  constructor(context: Context) {
    this.#context = context;
  }

  async create(call: SandboxCall, watch: Watch): Promise<string> {
    const { caller, id: sandboxId } = call;
    const open = this.#context.openStreams.take(caller, call);
    const stopped = new AbortController();
    try {
      const events = await fileEvents(this.#context, { ...call, gone: stopped.signal }, watch);
      const id = randomUUID();
      const stop = () => stopped.abort(new SkerryError("canceled", "The watcher was removed."));
      const timer = setTimeout(stop, UNASKED_MS).unref();
      const watcher: Watcher = { orgId: caller.orgId, sandboxId, stop, timer, events: [] };
      this.#all.set(id, watcher);
      void collect(watcher, events)
        .catch(() => undefined)
        .finally(() => {
          clearTimeout(timer);
          open[Symbol.dispose]();
          this.#all.delete(id);
        });
      return id;
    } catch (error) {
      open[Symbol.dispose]();
      throw error;
    }
  }

  /** What has happened since it was asked for last. */
  take(call: SandboxCall, id: string): FilesystemEvent[] {
    const watcher = this.#find(call, id);
    watcher.timer.refresh();
    const { events } = watcher;
    watcher.events = [];
    return events;
  }

  remove(call: SandboxCall, id: string): void {
    this.#find(call, id).stop();
    this.#all.delete(id);
  }

  #find({ caller, id: sandboxId }: SandboxCall, id: string): Watcher {
    const found = this.#all.get(id);
    if (found !== undefined && found.orgId === caller.orgId && found.sandboxId === sandboxId) return found;
    throw new ConnectError("There is no such watcher.", Code.NotFound);
  }
}

/** Beyond the bound the oldest events give way. */
async function collect(watcher: Watcher, events: AsyncIterable<FilesystemEvent>): Promise<void> {
  for await (const event of events) {
    watcher.events.push(event);
    if (watcher.events.length > EVENTS_MAX) watcher.events.shift();
  }
}

const made = new WeakMap<Context, Watchers>();

export function watchersOf(context: Context): Watchers {
  const known = made.get(context) ?? new Watchers(context);
  made.set(context, known);
  return known;
}
