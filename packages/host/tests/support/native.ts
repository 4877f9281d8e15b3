// The host's native pieces, built as users build them, into a folder that lasts for one test file.

import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "../../src/system/run.ts";

const source = join(import.meta.dirname, "../../native");
const BUILD_DEADLINE_MS = 180_000;

export interface Native extends AsyncDisposable {
  readonly folder: string;
  readonly launch: string;
  readonly contain: string;
  readonly consoleLog: string;
  readonly netnsExec: string;
  readonly conntrackFlush: string;
  readonly slotDenials: string;
  readonly dataRanges: string;
  readonly spawnHelper: string;
  readonly privateMemory: string;
  readonly changedPages: string;
  readonly noDisassembler: readonly string[];
}

export async function buildNative(): Promise<Native> {
  const folder = await mkdtemp("/tmp/skerry-unit-native-");
  await runProgram("make", ["-s", "-C", source, `OUT=${folder}`], { deadlineMs: BUILD_DEADLINE_MS });
  return {
    folder,
    launch: join(folder, "launch"),
    contain: join(folder, "contain"),
    consoleLog: join(folder, "console-log"),
    netnsExec: join(folder, "netns-exec"),
    conntrackFlush: join(folder, "conntrack-flush"),
    slotDenials: join(folder, "slot-denials"),
    dataRanges: join(folder, "data-ranges"),
    spawnHelper: join(folder, "spawn-helper"),
    privateMemory: join(folder, "private-memory.so"),
    changedPages: join(folder, "changed-pages"),
    noDisassembler: [4, 5].map((version) => join(folder, `no-disassembler.${version}.so`)),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
