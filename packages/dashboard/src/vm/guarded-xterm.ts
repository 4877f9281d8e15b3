// The terminal library, for output of a guest that is hostile. By itself it obeys a count of two thousand million lines, which holds the page
// for minutes, and a click on text that a guest has made a link of asks to leave for where the guest wants.

import { Terminal as Xterm, type ITerminalOptions } from "@xterm/xterm";

/** Repeat a character, scroll, insert and delete lines, go to tab stops: each is done as often as it says. */
const COUNTED = ["b", "I", "L", "M", "S", "T", "Z"] as const;
/** More than any screen has columns; programs say 999 where they mean all. */
const COUNT_MAX = 1_000;
/** The library draws between pieces, and not within one. */
const PIECE_BYTES = 4 * 1024;

export function guardedXterm(options: ITerminalOptions): Xterm {
  const screen = new Xterm({
    ...options,
    linkHandler: {
      activate: (event, uri) => {
        if (event.ctrlKey || event.metaKey) open(uri, "_blank", "noopener,noreferrer");
      },
    },
  });
  for (const final of COUNTED)
    // True: nothing more is done about it.
    screen.parser.registerCsiHandler({ final }, ([count]) => typeof count === "number" && count > COUNT_MAX);
  return screen;
}

/** Resolves when all of it is drawn. */
export function draw(screen: Xterm, data: Uint8Array): Promise<void> {
  return new Promise((drawn) => {
    for (let at = 0; at < data.length; at += PIECE_BYTES) {
      const end = at + PIECE_BYTES;
      screen.write(data.subarray(at, end), end >= data.length ? drawn : undefined);
    }
    if (data.length === 0) drawn();
  });
}
