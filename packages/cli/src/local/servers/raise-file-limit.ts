// The servers inherit the limit of the session in which `skerry up` was called, which may be a few thousand
// files. Node raises its own soft limit to the hard one when it starts, and never the hard one.

import { fileLimit, SERVICE_FILES } from "@skerry/contract/connections/file-limit";
import { run } from "../system/run.ts";

/** For this process and all that it starts from now on. Returns why the limit stays; undefined where it is
 *  high enough. */
export async function raiseFileLimit(): Promise<string | undefined> {
  const before = fileLimit();
  if (before >= SERVICE_FILES) return undefined;
  const args = ["--pid", String(process.pid), `--nofile=${SERVICE_FILES}:${SERVICE_FILES}`];
  const failure = await run("prlimit", args).then(
    ({ code, stderr }) => (code === 0 ? undefined : stderr.trim()),
    (error: unknown) => String(error),
  );
  return failure === undefined ? undefined : `the servers may open ${before} files: ${failure}`;
}
