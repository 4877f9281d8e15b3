// Runs command lines in one process, which starts once: a message from its parent is the words and the
// standard input of one, and its answer is what that one printed and ended with.

import { Readable, Writable } from "node:stream";
import { registerServerStatus } from "../../src/commands/server-status.ts";
import { runProgram } from "../../src/program/program.ts";

export interface CommandLine {
  readonly words: readonly string[];
  readonly input: string;
}

export interface CommandEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Keeps what is written to a stream of the process. */
function captured(name: "stdout" | "stderr"): () => string {
  const pieces: Buffer[] = [];
  const stream = new Writable({
    write(piece: Buffer, _encoding, done) {
      pieces.push(piece);
      done();
    },
  });
  Object.defineProperty(process, name, { value: stream, configurable: true });
  return () => Buffer.concat(pieces).toString();
}

async function run({ words, input }: CommandLine): Promise<CommandEnd> {
  const [stdout, stderr] = [captured("stdout"), captured("stderr")];
  const stdin = Readable.from(input === "" ? [] : [Buffer.from(input)]);
  Object.defineProperty(process, "stdin", { value: stdin, configurable: true });
  process.exitCode = undefined;
  await runProgram(words, {
    register: async (program, cli) => registerServerStatus(program, cli),
    registerHost: () => undefined,
  });
  return { code: Number(process.exitCode ?? 0), stdout: stdout(), stderr: stderr() };
}

// Each command waits for signals of its own.
process.setMaxListeners(0);
process.on("message", (line: CommandLine) => {
  void run(line).then((end) => process.send?.(end));
});
process.send?.("ready");
