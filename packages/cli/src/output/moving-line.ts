// The line of a wait on a terminal. In a file of its own because the spinner is loaded only where it is shown.

import type { Writable } from "node:stream";
import makeSpinner from "yocto-spinner";

export class MovingLine {
  readonly #spinner: ReturnType<typeof makeSpinner>;

  constructor(stream: Writable, text: string) {
    // Its own signal handling would end the process before the request is aborted.
    this.#spinner = makeSpinner({ text, stream, handleSignals: false }).start();
  }

  get text(): string {
    return this.#spinner.text;
  }

  set text(text: string) {
    this.#spinner.text = text;
  }

  stop(): void {
    this.#spinner.stop();
  }
}
