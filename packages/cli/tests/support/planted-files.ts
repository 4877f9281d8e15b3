// Files of a machine that is not there.

import type { SystemFiles } from "../../src/local/doctor/system-files.ts";

/** By path. */
export function plantedFiles(files: Readonly<Record<string, string>>): SystemFiles {
  return {
    read: (path) => Promise.resolve(files[path]?.trim()),
    list: (folder) =>
      Promise.resolve([
        ...new Set(
          Object.keys(files)
            .filter((path) => path.startsWith(`${folder}/`))
            .map((path) => path.slice(folder.length + 1).split("/")[0] ?? ""),
        ),
      ]),
  };
}
