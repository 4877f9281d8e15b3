// HTML as text in which everything that comes from elsewhere is escaped, because that is the only way to put it in.

/** Text that is HTML already. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | undefined | readonly Part[];

export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, piece, index) => text + textOf(parts[index - 1]) + piece));
}

/** A sentence of the document: code between backticks, paragraphs between empty lines. */
export function prose(text: string): Html[] {
  return text
    .split("\n\n")
    .map(
      (paragraph) =>
        html`<p>
          ${paragraph.split("`").map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))}
        </p>`,
    );
}

function textOf(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(textOf).join("");
  return String(part).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
