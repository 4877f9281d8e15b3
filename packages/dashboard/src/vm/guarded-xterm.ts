// The terminal library, for output of a guest that is hostile, and for what another page has put into the clipboard. By itself it obeys a count of
// two thousand million lines, draws a thousand marks over one character, and repeats an endless line to screen readers, each of which holds the page
// for minutes; a click on text that a guest has made a link of asks to leave for where the guest wants; and what is pasted may say itself where it ends.

import { Terminal as Xterm, type ITerminalOptions } from "@xterm/xterm";
import { fewMarks } from "../ui/visible-text.ts";
import { withStyleSheets } from "./with-style-sheets.ts";

/** Repeat a character, scroll, insert and delete lines, go to tab stops: each is done as often as it says. */
const COUNTED = ["b", "I", "L", "M", "S", "T", "Z"] as const;
/** More than any screen has columns; programs say 999 where they mean all. */
const COUNT_MAX = 1_000;
/** The library draws between pieces, and not within one. */
const PIECE_LENGTH = 4 * 1024;
/** What a screen reader is told of a line that does not end. */
const TOLD_MAX_LENGTH = 2_000;
/** What is pasted is text: a key, such as Escape, or the end of the paste is none. */
// eslint-disable-next-line no-control-regex
const KEYS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

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

/** The library makes style elements, which the page's rules refuse. */
export function openXterm(screen: Xterm, into: HTMLElement): void {
  withStyleSheets(() => screen.open(into));
  const paste = (event: ClipboardEvent) => {
    event.preventDefault();
    event.stopPropagation();
    screen.paste((event.clipboardData?.getData("text/plain") ?? "").replace(KEYS, ""));
  };
  into.addEventListener("paste", paste, { capture: true });
  const told = into.querySelector(".live-region");
  if (told === null) return;
  // The library forgets what it has told with the next key, or counts lines.
  const shorten = () => {
    const text = told.textContent;
    if (text.length > TOLD_MAX_LENGTH) told.textContent = text.slice(-TOLD_MAX_LENGTH);
  };
  new MutationObserver(shorten).observe(told, { childList: true, characterData: true, subtree: true });
}

/** Draws output piece by piece. Its promise resolves when all of that piece is drawn. */
export function drawer(screen: Xterm): (data: Uint8Array) => Promise<void> {
  const decoder = new TextDecoder();
  const bounded = fewMarks();
  return (data) => {
    const text = bounded(decoder.decode(data, { stream: true }));
    return new Promise((drawn) => {
      for (let at = 0; at < text.length; at += PIECE_LENGTH) {
        const end = at + PIECE_LENGTH;
        screen.write(text.slice(at, end), end >= text.length ? drawn : undefined);
      }
      if (text.length === 0) drawn();
    });
  };
}
