// The request that a form or a list sends, as one would send it without the dashboard.

import { Copy } from "./copy.tsx";
import { Popover } from "./popover.tsx";

export interface RequestWords {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With its query. */
  readonly path: string;
  readonly json?: unknown;
  /** Its body is this file of the person's own machine. */
  readonly file?: string;
  /** It is done only where what it changes still has this version. */
  readonly ifVersion?: number;
  readonly cli?: string;
  readonly typescript?: string;
}

interface CopyAsProps {
  readonly request: RequestWords;
  /** What it does, where the page copies more than one. */
  readonly of?: string | undefined;
  /** Beside a button that sends the same. */
  readonly isSmall?: boolean;
}

export function CopyAs({ request, of, isSmall = false }: CopyAsProps) {
  const name = of === undefined ? "Copy as" : `Copy as: ${of}`;
  return (
    <Popover kind="copy-as" text={isSmall ? "…" : "Copy as"} name={name} label="Copy as">
      {() => <Menu request={request} />}
    </Popover>
  );
}

function Menu({ request }: { readonly request: RequestWords }) {
  const forms: readonly (readonly [string, string | undefined])[] = [
    ["curl", asCurl(request)],
    ["CLI", request.cli],
    ["TypeScript", request.typescript],
  ];
  return (
    <>
      {forms.map(
        ([name, text]) =>
          text !== undefined && (
            <div key={name}>
              <span class="label">{name}</span>
              {OBEYED_BY_TERMINALS.test(text) ? (
                <p class="help">Not given: it has characters that a terminal obeys when they are pasted.</p>
              ) : (
                <Form name={name} text={text} />
              )}
            </div>
          ),
      )}
    </>
  );
}

/**
 * Control characters, which may end a paste and begin a command of their own, and those that change the direction of what is read. A guest names its
 * files as it likes.
 */
// eslint-disable-next-line no-control-regex
const OBEYED_BY_TERMINALS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

function Form({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <>
      <Copy text={text} label={`as ${name}`} />
      <pre tabIndex={0} aria-label={`As ${name}`}>
        {text}
      </pre>
    </>
  );
}

function asCurl({ method, path, json, file, ifVersion }: RequestWords): string {
  const parts = ["curl", ...(method === "GET" ? [] : ["-X", method]), quoted(location.origin + path)];
  parts.push("-H", '"Authorization: Bearer $SKERRY_API_TOKEN"');
  if (ifVersion !== undefined) parts.push("-H", `'If-Match: "${ifVersion}"'`);
  if (json !== undefined)
    parts.push("-H", "'Content-Type: application/json'", "-d", quoted(JSON.stringify(json)));
  if (file !== undefined)
    parts.push("-H", "'Content-Type: application/octet-stream'", "--data-binary", quoted(`@${file}`));
  return parts.join(" ");
}

/** A command line: its beginning as it is, and each further word quoted where the shell would read it otherwise. */
export function command(start: string, ...words: readonly string[]): string {
  return [start, ...words.map(quoted)].join(" ");
}

/** Fields of a request as flags of its command: `expires_in` is `--expires-in`. */
export function flags(fields: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(fields).flatMap(([name, value]) => [`--${name.replaceAll("_", "-")}`, value]);
}

/** A path with the fields that are given. */
export function withQuery(path: string, fields: Readonly<Record<string, string | number | boolean>>): string {
  const text = new URLSearchParams(
    Object.entries(fields).map(([name, value]) => [name, String(value)]),
  ).toString();
  return text === "" ? path : `${path}?${text}`;
}

/** A call of the client: `tokens.create` with these arguments. */
export function call(method: string, ...args: readonly unknown[]): string {
  return `await skerry.${method}(${argumentText(args)});`;
}

/** The same for one that gives item by item. */
export function callForEach(method: string, item: string, ...args: readonly unknown[]): string {
  const list = `skerry.${method}(${argumentText(args)})`;
  return `for await (const ${item} of ${list}) console.log(${item});`;
}

/** Without fields that are all left out. */
function argumentText(args: readonly unknown[]): string {
  const texts = args.map((one) => JSON.stringify(one));
  return texts.filter((text) => text !== "{}").join(", ");
}

/** For a shell, as one word. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
