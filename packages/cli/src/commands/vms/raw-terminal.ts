// The person's terminal while a program elsewhere has it: each key goes there as it is. Whatever ends this process, the terminal is given
// back as it was.

import { spawnSync } from "node:child_process";

interface Keys {
  readonly input: (bytes: Uint8Array) => Promise<void>;
  /** Standard input has ended. */
  readonly ended: () => void;
  readonly resized: (size: Size) => void;
  /** The person has typed `~.`, or a signal came. */
  readonly left: () => void;
}

interface Size {
  readonly cols: number;
  readonly rows: number;
}

interface Raw extends Disposable {
  /** Of this process where the program did not end by itself. */
  readonly exitCode: number;
}

const SIZE_DEFAULT: Size = { cols: 80, rows: 24 };
/** 128 + the signal's number, as shells have it. */
const signals = { SIGHUP: 129, SIGTERM: 143 } as const;

export class RawTerminal {
  /** Where there is none, Node has undefined in the place of false. */
  readonly isTerminal = Boolean(process.stdin.isTTY && process.stdout.isTTY);

  get size(): Size {
    if (!this.isTerminal) return SIZE_DEFAULT;
    const { columns, rows } = process.stdout;
    return columns > 0 && rows > 0 ? { cols: columns, rows } : SIZE_DEFAULT;
  }

  begin({ input, ended, resized, left }: Keys): Raw {
    let exitCode = 0;
    const { stdin, stdout } = process;
    const restore = (): void => void (this.isTerminal && stdin.setRawMode(false));
    const onResize = (): void => resized(this.size);
    const onSignal = (name: keyof typeof signals): void => {
      exitCode = signals[name];
      left();
    };
    const escape = new Escape();
    const onData = (bytes: Buffer): void => {
      if (this.isTerminal && escape.isIn(bytes)) return left();
      stdin.pause();
      void input(bytes).then(() => stdin.resume());
    };
    if (this.isTerminal) {
      stdin.setRawMode(true);
      // Node's raw mode has each new line begin at the left, which programs that fill the screen do not expect. Where there is no `stty` that stays.
      spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
    }
    // Also where this process crashes.
    process.once("exit", restore);
    for (const name of ["SIGHUP", "SIGTERM"] as const) process.on(name, onSignal);
    stdout.on("resize", onResize);
    stdin.on("data", onData).once("end", ended).resume();
    return {
      get exitCode() {
        return exitCode;
      },
      [Symbol.dispose]() {
        restore();
        process.off("exit", restore);
        for (const name of ["SIGHUP", "SIGTERM"] as const) process.off(name, onSignal);
        stdout.off("resize", onResize);
        stdin.off("data", onData).off("end", ended).pause();
        // A read that waits would keep the process alive. A file has none that waits.
        if ("unref" in stdin) stdin.unref();
      },
    };
  }
}

const ENTER = 0x0d;
const NEWLINE = 0x0a;

/** `~.` at the begin of a line, which may come in several pieces. What comes before `.` is sent all the same. */
class Escape {
  #typed = "\r";

  isIn(bytes: Buffer): boolean {
    for (const byte of bytes) {
      if (byte === ENTER || byte === NEWLINE) this.#typed = "\r";
      else if (this.#typed === "\r" && byte === 0x7e) this.#typed = "\r~";
      else if (this.#typed === "\r~" && byte === 0x2e) return true;
      else this.#typed = "";
    }
    return false;
  }
}
