// What changes in a directory of a sandbox, as E2B's clients are told it: as a stream, or by asking again and again, for which this process keeps it.

import { randomUUID } from "node:crypto";
import { posix } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { SkerryError } from "@skerry/contract/errors";
import type { FileEvent } from "@skerry/contract/vms/watches";
import { stateOf, type Context } from "../context.ts";
import { watchFiles } from "../vms/watches/watch-files.ts";
import type { SandboxCall } from "./sandbox-call.ts";
import { encodedPathOf, entryAt, type EntryInfo } from "./entry-info.ts";
import { EventBacklogs, type EventBacklog, type FilesystemEvent } from "./event-backlog.ts";
import { isPerhapsNameless, UploadEvents } from "./upload-events.ts";
import { EventType } from "./wire/filesystem_pb.js";

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
    const uploads = new UploadEvents();
    for await (const { event, path: name } of events) {
      if (event === "overflow")
        context.log.warn(
          { sandbox_id: call.id },
          "events of a directory were lost before its watcher had them",
        );
      if (eventTypes[event] === undefined || name === "") continue;
      const there = () => entryThere(context, call, posix.join(path, name));
      const isNameless = async () => uploads.knows(name) || (await there()) === undefined;
      if (isPerhapsNameless(name) && event !== "remove" && (await isNameless())) {
        uploads.note({ event, path: name });
        continue;
      }
      for (const told of uploads.told({ event, path: name })) {
        const type = eventTypes[told];
        const entry = includeEntry ? await there() : undefined;
        if (type !== undefined) yield { name, type, ...(entry !== undefined && { entry }) };
      }
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

/** One that no client has asked for so long is ended. */
const UNASKED_MS = 10 * 60_000;

/** Events that follow each other this closely are told together, up to a bound. */
const LOOK_MS = 20;
const LOOKS_MAX = 10;

interface Watcher {
  readonly orgId: string;
  readonly sandboxId: string;
  readonly path: string;
  readonly stop: () => void;
  readonly timer: NodeJS.Timeout;
  readonly backlog: EventBacklog;
}

/** Watchers that clients ask for their events. They are kept by the process that has made them. */
class Watchers {
  readonly #context: Context;
  readonly #all = new Map<string, Watcher>();
  readonly #backlogs = new EventBacklogs();

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
      const backlog = this.#backlogs.open(caller.orgId);
      this.#all.set(id, { orgId: caller.orgId, sandboxId, path: watch.path, stop, timer, backlog });
      void collect(backlog, events)
        .catch(() => undefined)
        .finally(() => {
          clearTimeout(timer);
          backlog.close();
          open[Symbol.dispose]();
          this.#all.delete(id);
        });
      return id;
    } catch (error) {
      open[Symbol.dispose]();
      throw error;
    }
  }

  /** What has happened since it was asked for last. Throws `out_of_range` once where the oldest of that was lost: the wire has no event that says so. */
  async take(call: SandboxCall, id: string): Promise<FilesystemEvent[]> {
    const watcher = this.#find(call, id);
    watcher.timer.refresh();
    await this.#arrival(call, watcher);
    const { events, isIncomplete } = watcher.backlog.take();
    if (!isIncomplete) return events;
    throw new ConnectError(
      "The watcher's oldest events were lost: there were too many before they were asked for. List the directory, and ask again for those after them.",
      Code.OutOfRange,
    );
  }

  /** Waits for the events of what was done before the client asked: the guest tells them before it answers, and they are on their way from its host. */
  async #arrival(call: SandboxCall, { path, backlog }: Watcher): Promise<void> {
    await entryAt(this.#context, call, path).catch(() => undefined);
    for (let look = 0; look < LOOKS_MAX; look++) {
      const { arrived } = backlog;
      await sleep(LOOK_MS);
      if (backlog.arrived === arrived) return;
    }
  }

  remove(call: SandboxCall, id: string): void {
    const { stop, backlog } = this.#find(call, id);
    backlog.close();
    stop();
    this.#all.delete(id);
  }

  #find({ caller, id: sandboxId }: SandboxCall, id: string): Watcher {
    const found = this.#all.get(id);
    if (found !== undefined && found.orgId === caller.orgId && found.sandboxId === sandboxId) return found;
    throw new ConnectError("There is no such watcher.", Code.NotFound);
  }
}

async function collect(backlog: EventBacklog, events: AsyncIterable<FilesystemEvent>): Promise<void> {
  for await (const event of events) backlog.push(event);
}

export const watchersOf = stateOf((context) => new Watchers(context));
