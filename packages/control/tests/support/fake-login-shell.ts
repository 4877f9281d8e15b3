// A login shell on a terminal that there is not: it echoes what is typed, and knows a handful of commands.

import type { FakeExecution } from "./fake-executions.ts";

const PROMPT = "guest$ ";
const INTERRUPT = "\x03";
const FLOOD = Buffer.from("y\r\n".repeat(20_000));

/** `echo TEXT`, `printf ESCAPED` with `\e` and `\a` as printf knows them, `yes` until Ctrl-C, and `exit CODE`. */
export function playLoginShell(execution: FakeExecution): void {
  let line = "";
  let stop = (): void => undefined;
  execution.write(PROMPT);
  execution.onInput = (bytes) => {
    for (const key of bytes.toString()) {
      if (key === INTERRUPT) stop();
      else if (key === "\r") {
        execution.write("\r\n");
        stop = run(execution, line);
        line = "";
      } else {
        line += key;
        execution.write(key);
      }
    }
  };
}

/** Returns what Ctrl-C does to the command. */
function run(execution: FakeExecution, line: string): () => void {
  const [name = "", ...words] = line.split(" ");
  const rest = words.join(" ");
  if (name === "exit") {
    execution.end(Number(rest));
    return () => undefined;
  }
  if (name === "yes") return flood(execution);
  if (name === "echo") execution.write(`${rest}\r\n`);
  if (name === "printf") execution.write(rest.replaceAll("\\e", "\x1b").replaceAll("\\a", "\x07"));
  execution.write(PROMPT);
  return () => undefined;
}

/** Waits for its reader as a pipe would make it wait. */
function flood(execution: FakeExecution): () => void {
  let isInterrupted = false;
  const print = async () => {
    while (!isInterrupted && !execution.isOver) {
      execution.write(FLOOD);
      await execution.untilTaken();
    }
    execution.write(`^C\r\n${PROMPT}`);
  };
  void print();
  return () => void (isInterrupted = true);
}
