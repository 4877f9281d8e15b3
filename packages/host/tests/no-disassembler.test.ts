// A QEMU that starts without the library which it wants for its debug log.

import { afterAll, beforeAll, expect, test } from "vitest";
import { runProgram, type RunOptions } from "../src/system/run.ts";
import { buildNative, type Native } from "./support/native.ts";

const DEADLINE_MS = 20_000;

let native: Native;
beforeAll(async () => {
  native = await buildNative();
});
afterAll(() => native[Symbol.asyncDispose]());

function qemu(args: readonly string[], options: Omit<RunOptions, "deadlineMs">): Promise<string> {
  return runProgram("/usr/bin/qemu-system-x86_64", args, { ...options, deadlineMs: DEADLINE_MS });
}

/** Files of disassembler libraries that QEMU would load. */
async function disassemblers(env: Record<string, string>): Promise<string[]> {
  const loaded = await qemu([], { env: { ...env, LD_TRACE_LOADED_OBJECTS: "1" } });
  return [...loaded.matchAll(/=> (\S*libcapstone\S*)/g)].map(([, file]) => file ?? "");
}

test("QEMU loads no disassembler where ours is preloaded, and starts", async () => {
  const env = { LD_PRELOAD: native.noDisassembler.join(":") };
  expect(await disassemblers({})).toHaveLength(1);
  expect(await disassemblers(env)).toEqual([]);
  // Bound at once, so that a function which is missing shows.
  expect(await qemu(["--version"], { env: { ...env, LD_BIND_NOW: "1" } })).toContain("QEMU emulator version");
});

test("a QEMU that is asked for instructions anyway says that it has none, and goes on", async () => {
  const env = { LD_PRELOAD: native.noDisassembler.join(":") };
  const machine = ["-M", "microvm", "-accel", "tcg", "-nodefaults", "-display", "none", "-S"];
  const input = "x /1i $pc\ninfo status\nquit\n";
  const output = await qemu([...machine, "-monitor", "stdio"], { env, input });
  expect(output).toContain("Asm output not supported");
  expect(output).toContain("VM status: paused");
});
