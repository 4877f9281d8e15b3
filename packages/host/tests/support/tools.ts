// Programs of this machine for tests of the launcher, in whose root there is nothing but what it is given.

import { existsSync } from "node:fs";

const FOLDERS = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"];

/** Enough for a shell, perl and the usual tools. They can start no others. */
export const tools: readonly string[] = FOLDERS.filter((folder) => existsSync(folder));
