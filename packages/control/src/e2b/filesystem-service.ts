// The service `filesystem.Filesystem`.

import { posix } from "node:path";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { SkerryError } from "@skerry/contract/errors";
import type { DirectoryEntry } from "@skerry/contract/vms/files";
import type { Context } from "../context.ts";
import { changeFile, makeDirectory, removeFile, statFile } from "../vms/files/file-changes.ts";
import { listDirectory } from "../vms/files/files.ts";
import { resolvePath } from "./command-line.ts";
import type { SandboxCall } from "./sandbox-call.ts";
import { encodedPathOf, entryAt, entryOf, type EntryInfo } from "./entry-info.ts";
import { makeDirectoryFor } from "./guest-shell.ts";
import { guestUser, userNameOf } from "./guest-users.ts";
import type { GuestUser } from "./known-users.ts";
import { answering, callOf, streaming, withKeepalives } from "./rpc-call.ts";
import { fileEvents, watchersOf } from "./watchers.ts";
import type { Filesystem, WatchDirRequest } from "./wire/filesystem_pb.js";

/** A path of a user of a sandbox. */
interface Meant {
  readonly call: SandboxCall;
  readonly user: GuestUser;
  readonly path: string;
}

const NOTHING = "There is no path.";

export function filesystemService(context: Context): ServiceImpl<typeof Filesystem> {
  const meant = async (rpc: HandlerContext, path: string): Promise<Meant> => {
    const call = callOf(rpc);
    const user = await guestUser(context, call, userNameOf(rpc.requestHeader.get("authorization")));
    return { call, user, path: resolvePath(path, user) };
  };
  const watchers = watchersOf(context);
  return {
    stat: (asked, rpc) =>
      answering(rpc, async () => {
        const { call, path } = await meant(rpc, asked.path);
        return { entry: await entryAt(context, call, path) };
      }),
    makeDir: (asked, rpc) =>
      answering(rpc, async () => ({ entry: await makeDir(context, await meant(rpc, asked.path)) })),
    move: (asked, rpc) =>
      answering(rpc, async () => {
        const source = await meant(rpc, asked.source);
        return { entry: await move(context, source, resolvePath(asked.destination, source.user)) };
      }),
    listDir: (asked, rpc) =>
      answering(rpc, async () => {
        const { call, path } = await meant(rpc, asked.path);
        return { entries: await list(context, call, { path, depth: asked.depth }) };
      }),
    remove: (asked, rpc) =>
      answering(rpc, async () => {
        if (asked.path === "") throw new ConnectError(NOTHING, Code.InvalidArgument);
        await remove(context, await meant(rpc, asked.path));
        return {};
      }),
    watchDir: (asked, rpc) => streaming(rpc, watchDir(context, rpc, { asked, meant })),
    createWatcher: (asked, rpc) =>
      answering(rpc, async () => {
        const { call, path } = await meant(rpc, asked.path);
        return { watcherId: await watchers.create(call, { ...optionsOf(asked), path }) };
      }),
    getWatcherEvents: ({ watcherId }, rpc) =>
      answering(rpc, async () => ({ events: await watchers.take(callOf(rpc), watcherId) })),
    removeWatcher: ({ watcherId }, rpc) =>
      answering(rpc, async () => {
        watchers.remove(callOf(rpc), watcherId);
        return {};
      }),
  };
}

async function makeDir(context: Context, { call, user, path }: Meant): Promise<EntryInfo> {
  const params = { ...call, encodedPath: encodedPathOf(path) };
  const there = await statFile(context, call.caller, { ...params, follow: true }).catch(unlessMissing);
  if (there?.type === "directory")
    throw new ConnectError(`The directory "${path}" is already there.`, Code.AlreadyExists);
  if (there !== undefined)
    throw new ConnectError(`"${path}" is there, and is no directory.`, Code.InvalidArgument);
  if (user.uid === 0) await makeDirectory(context, call.caller, { ...params, mode: undefined });
  else await makeDirectoryFor(context, call, { path, user });
  return entryAt(context, call, path);
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof SkerryError && error.code === "file_not_found") return undefined;
  throw error;
}

async function move(context: Context, { call, user, path }: Meant, to: string): Promise<EntryInfo> {
  // Those that the move would make belong to root.
  if (user.uid !== 0) await ensureParent(context, { call, user, path: to });
  const params = { ...call, encodedPath: encodedPathOf(path), change: { path: to } };
  return entryOf(context, call, await changeFile(context, call.caller, params));
}

/** The directory of a path, of the user where it is not there yet. */
export async function ensureParent(context: Context, { call, user, path }: Meant): Promise<void> {
  const parent = posix.dirname(path);
  const params = { ...call, encodedPath: encodedPathOf(parent), follow: true };
  const there = await statFile(context, call.caller, params).catch(unlessMissing);
  if (there === undefined) await makeDirectoryFor(context, call, { path: parent, user });
}

async function remove(context: Context, { call, path }: Meant): Promise<void> {
  const params = { ...call, encodedPath: encodedPathOf(path), recursive: true };
  await removeFile(context, call.caller, params).catch(unlessMissing);
}

/** How many links of a list are looked behind, each with a call. */
const LINKS_MAX = 200;

async function list(
  context: Context,
  call: SandboxCall,
  { path, depth }: { readonly path: string; readonly depth: number },
): Promise<EntryInfo[]> {
  const params = { ...call, encodedPath: encodedPathOf(path) };
  const levels = Math.max(1, depth);
  const listing = await listDirectory(context, call.caller, { ...params, depth: levels, limit: undefined });
  const infos = listing.entries.map((entry) => infoOf(path, entry));
  let links = 0;
  const entries: EntryInfo[] = [];
  for (const info of infos) {
    const isFollowed = info.type === "symlink" && ++links <= LINKS_MAX;
    entries.push(
      await entryOf(context, call, isFollowed || info.type !== "symlink" ? info : unfollowed(info)),
    );
  }
  return entries.toSorted((a, b) => ((a.path ?? "") < (b.path ?? "") ? -1 : 1));
}

const infoOf = (directory: string, { path, mode, owner, group, ...entry }: DirectoryEntry) => ({
  ...entry,
  path: posix.join(directory, path ?? entry.name),
  mode: mode ?? "0644",
  owner: owner ?? "root",
  group: group ?? "root",
});

const unfollowed = (info: ReturnType<typeof infoOf>) => ({ ...info, type: "other" as const });

interface WatchOptions {
  readonly recursive: boolean;
  readonly includeEntry: boolean;
}

/** `allowNetworkMounts` changes nothing: what a sandbox has mounted is watched in any case, and a watch tells what its kernel hears of there. */
const optionsOf = ({ recursive, includeEntry }: WatchOptions): WatchOptions => ({ recursive, includeEntry });

async function* watchDir(
  context: Context,
  rpc: HandlerContext,
  {
    asked,
    meant,
  }: {
    readonly asked: WatchDirRequest;
    readonly meant: (rpc: HandlerContext, path: string) => Promise<Meant>;
  },
) {
  const { call, path } = await meant(rpc, asked.path);
  using _open = context.openStreams.take(call.caller, call);
  const events = await fileEvents(context, call, { ...optionsOf(asked), path });
  const responses = async function* () {
    yield { event: { case: "start" as const, value: {} } };
    for await (const value of events) yield { event: { case: "filesystem" as const, value } };
  };
  yield* withKeepalives<WatchResponse>(rpc, responses(), () => ({ event: { case: "keepalive", value: {} } }));
}

type WatchResponse =
  | { event: { case: "start" | "keepalive"; value: object } }
  | {
      event: {
        case: "filesystem";
        value: Awaited<ReturnType<typeof fileEvents>> extends AsyncIterable<infer E> ? E : never;
      };
    };
