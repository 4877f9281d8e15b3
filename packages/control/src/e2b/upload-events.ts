// What a watch tells of files that are uploaded, as E2B's clients expect it. With E2B a file is written in its place: it is created, and written. Here a
// file is written while it has no name, and gets its name when it is whole. So the kernel tells of a write to "#" and a number; then of a creation, or,
// where the file replaces one, of a temporary name of ours before it. Pure.

import { posix } from "node:path";
import type { FileEvent } from "@skerry/contract/vms/watches";
import { BoundedMap } from "../values/bounded-map.ts";

type Event = FileEvent["event"];

export interface NamedEvent {
  readonly event: Event;
  /** Relative to the watched directory. */
  readonly path: string;
}

/** As the kernel calls a file that has no name. A file with a name can be called so too. */
export function isPerhapsNameless(path: string): boolean {
  return /^#\d+$/.test(posix.basename(path));
}

const isTemporary = (path: string): boolean => /^\.skerry-\d+-\d+$/.test(posix.basename(path));

const FOLDERS_MAX = 1_000;
const FILES_MAX = 100;

/** Of one watch. */
export class UploadEvents {
  /** By folder: files without a name that were written and have not got one yet. */
  readonly #nameless = new BoundedMap<string, Set<string>>(FOLDERS_MAX);
  /** Folders in which the next creation replaces a file. */
  readonly #replacing = new BoundedMap<string, true>(FOLDERS_MAX);

  /** Whether it is a file without a name that was noted, and has not got one yet. */
  knows(path: string): boolean {
    return this.#nameless.get(posix.dirname(path))?.has(path) === true;
  }

  /** Keeps an event of a file that has no name. */
  note({ event, path }: NamedEvent): void {
    if (event !== "write") return;
    const folder = posix.dirname(path);
    const files = this.#nameless.get(folder) ?? new Set<string>();
    if (files.size < FILES_MAX) this.#nameless.set(folder, files.add(path));
  }

  /** What is told in the place of an event of a file that has a name. */
  told({ event, path }: NamedEvent): readonly Event[] {
    const folder = posix.dirname(path);
    if (isTemporary(path)) {
      if (event === "rename") this.#replacing.set(folder, true);
      return [];
    }
    if (event !== "create") return [event];
    const isReplaced = this.#replacing.get(folder) === true;
    this.#replacing.delete(folder);
    const isWritten = this.#forgetOne(folder);
    if (isReplaced) return ["write"];
    return isWritten ? ["create", "write"] : ["create"];
  }

  #forgetOne(folder: string): boolean {
    const files = this.#nameless.get(folder);
    const [first] = files ?? [];
    if (files === undefined || first === undefined) return false;
    files.delete(first);
    if (files.size === 0) this.#nameless.delete(folder);
    return true;
  }
}
