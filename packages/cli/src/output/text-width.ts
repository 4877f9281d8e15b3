// How wide text is on a terminal, and text made narrower. Chinese characters and emoji fill two columns, combining marks none.

export type WidthOf = (text: string) => number;

const ELLIPSIS = "…";
/** Of plain ASCII the width is the length; the tables of Unicode are loaded only for other texts. */
export async function measureFor(texts: Iterable<string>): Promise<WidthOf> {
  for (const text of texts) if (!/^[\x20-\x7e]*$/.test(text)) return (await import("string-width")).default;
  return (text) => text.length;
}

/** At most so wide; what is cut off is an ellipsis. */
export function truncated(text: string, columns: number, widthOf: WidthOf): string {
  if (widthOf(text) <= columns) return text;
  const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  let kept = "";
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += widthOf(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return kept.trimEnd() + ELLIPSIS;
}

/** Lines that break between words. A word that is wider than that stays whole: it may be an address, or a command to copy. */
export function wrapped(text: string, columns: number, widthOf: WidthOf): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && widthOf(longer) > columns) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}
