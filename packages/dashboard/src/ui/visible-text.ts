// Texts of the page, most of which guests and other people have written. What none of them may do, whichever part of the page shows it: reorder
// the text around it, so that a person confirms the removal of another file than the one that is named, and hold the page up.

/** Control characters, and those that change the direction of what is read. A tab and a line break do what is expected of them. */
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
/** Marks that are drawn over the character before them, and what has no width and may stand between them. */
// oxlint-disable-next-line no-misleading-character-class, no-control-regex -- it is about single characters
const MARKS = /[\p{M}\p{Cf}\u1160-\u11ff\x7f]+/gu;
/** On one character. No language has more (UAX #15, stream-safe text); a browser draws 10,000 in minutes. */
const MARKS_MAX = 30;

/** Control characters as they are written in programs: `\x1b`. */
export function visible(text: string): string {
  return fewMarks()(text).replace(UNSEEN, escaped);
}

function escaped(character: string): string {
  const code = character.charCodeAt(0).toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u${code.padStart(4, "0")}`;
}

/** Drops marks that are too many from a text that comes in pieces. */
export function fewMarks(): (piece: string) => string {
  let before = 0;
  return (piece) => {
    let ending = 0;
    const kept = piece.replace(MARKS, (run, at: number) => {
      const marks = Array.from(run);
      const taken = at === 0 ? before : 0;
      if (at + run.length === piece.length) ending = taken + marks.length;
      return marks.slice(0, Math.max(0, MARKS_MAX - taken)).join("");
    });
    if (piece !== "") before = ending;
    return kept;
  };
}
