// Text of a client's in a message of ours.

const SHOWN_MAX_CHARS = 100;

/** What a terminal or a log would not show as it is: control and format characters (those that change the direction of text too), half
 *  characters, and separators of lines. */
const ODD = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** In quotes, at most 100 characters of it, and nothing that does more than stand there. */
export function quoted(text: string): string {
  const cut = text.length > SHOWN_MAX_CHARS ? `${text.slice(0, SHOWN_MAX_CHARS)}…` : text;
  const escaped = cut.replaceAll(/["\\]/g, (character) => `\\${character}`);
  return `"${escaped.replaceAll(ODD, (odd) => `\\u{${(odd.codePointAt(0) ?? 0).toString(16)}}`)}"`;
}
