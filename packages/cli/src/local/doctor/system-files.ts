// The files in which the kernel and the distribution tell about a machine: those of this one, or what a test plants in their place.

import { readdir, readFile } from "node:fs/promises";

export interface SystemFiles {
  /** Without the white space around it; undefined where it cannot be read. */
  read(path: string): Promise<string | undefined>;
  /** Names, none where there is no such folder. */
  list(folder: string): Promise<readonly string[]>;
}

export const systemFiles: SystemFiles = {
  read: (path) =>
    readFile(path, "utf8").then(
      (text) => text.trim(),
      () => undefined,
    ),
  list: (folder) => readdir(folder).catch(() => []),
};
