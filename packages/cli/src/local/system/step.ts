// Steps on a terminal: a title, dots or a spinner while it works, and the time that it took.

import yoctoSpinner from "yocto-spinner";

const TITLE_CHARS = 52;

export interface Step {
  done(): void;
  failed(): void;
}

const DOT_EVERY_MS = 5_000;

/** Begins a step. On a terminal it moves; in a log its title comes at once, and a dot every five seconds. */
export function beginStep(title: string): Step {
  const startedMs = performance.now();
  const seconds = (): string => `${((performance.now() - startedMs) / 1_000).toFixed(1).padStart(6)} s`;
  const padded = title.padEnd(TITLE_CHARS);
  if (!process.stderr.isTTY) {
    process.stdout.write(padded);
    const dots = setInterval(() => process.stdout.write("."), DOT_EVERY_MS).unref();
    const end = (word: string) => (): void => {
      clearInterval(dots);
      process.stdout.write(` ${seconds()}${word}\n`);
    };
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
