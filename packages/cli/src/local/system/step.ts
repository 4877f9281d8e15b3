// Steps on a terminal: a title, dots or a spinner while it works, and the time that it took.

import yoctoSpinner from "yocto-spinner";

const TITLE_CHARS = 52;

export interface Step {
  done(): void;
  failed(): void;
}

/** Begins a step. On a terminal it moves; in a log file it is one line at its end. */
export function beginStep(title: string): Step {
  const startedMs = performance.now();
  const seconds = (): string => `${((performance.now() - startedMs) / 1_000).toFixed(1).padStart(6)} s`;
  const padded = title.padEnd(TITLE_CHARS);
  if (!process.stderr.isTTY) {
    const end = (word: string) => (): void => void process.stdout.write(`${padded} ${seconds()}${word}\n`);
    return { done: end(""), failed: end(" failed") };
  }
  const spinner = yoctoSpinner({ text: title, stream: process.stderr }).start();
  const end = (word: string) => (): void => {
    spinner.stop();
    process.stdout.write(`${padded} ${seconds()}${word}\n`);
  };
  return { done: end(""), failed: end(" failed") };
}

export async function step<T>(title: string, work: () => Promise<T>): Promise<T> {
  const running = beginStep(title);
  try {
    const result = await work();
    running.done();
    return result;
  } catch (error) {
    running.failed();
    throw error;
  }
}
