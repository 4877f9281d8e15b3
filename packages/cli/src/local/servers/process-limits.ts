// The servers inherit limits of the session in which `skerry up` was called. Its hard limit of files may be a
// few thousand: Node raises its own soft limit to that when it starts, and never the hard one. And it may let
// a server that crashes leave a core file, which has every secret that the server was working with.

import { fileLimit, SERVICE_FILES } from "@skerry/contract/connections/file-limit";
import { run } from "../system/run.ts";

/**
 * For this process and all that it starts from now on. Returns why a limit stays as it was; none where all
 * are right.
 */
export async function setProcessLimits(): Promise<string[]> {
  const files = fileLimit();
  return [
    ...(await set("--core=0:0", "servers that crash may leave core files")),
    ...(files < SERVICE_FILES
      ? await set(`--nofile=${SERVICE_FILES}:${SERVICE_FILES}`, `the servers may open ${files} files`)
      : []),
  ];
}

async function set(limit: string, otherwise: string): Promise<string[]> {
  const failure = await run("prlimit", ["--pid", String(process.pid), limit]).then(
    ({ code, stderr }) => (code === 0 ? undefined : stderr.trim()),
    (error: unknown) => String(error),
  );
  return failure === undefined ? [] : [`${otherwise}: ${failure}`];
}
