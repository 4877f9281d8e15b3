// What a build is sent: the files of a folder, or the archive of an image.

import { Readable } from "node:stream";
import { packTree, type Item } from "../copy/tar-writer.ts";
import type { ContextFolder } from "./context-folder.ts";
import { readImageArchive } from "./image-archive.ts";

export interface FolderMeant {
  readonly dir: string;
  readonly context: ContextFolder;
}

export interface SentContext extends AsyncDisposable {
  /** Undefined where nothing is sent. */
  readonly content: ReadableStream<Uint8Array> | undefined;
  /** Of a folder. */
  readonly items: readonly Item[] | undefined;
}

/** `archive`: a file's name. */
export async function openSentContext(
  folder: FolderMeant | undefined,
  archive: string | undefined,
): Promise<SentContext> {
  if (archive !== undefined) return { items: undefined, ...(await readImageArchive(archive)) };
  const tree = folder && (await packTree(folder.dir, "", folder.context.isLeftOut));
  return {
    content: tree && (Readable.toWeb(Readable.from(tree.archive)) as ReadableStream<Uint8Array>),
    items: tree?.items,
    async [Symbol.asyncDispose]() {},
  };
}
