// The request that a form or a list sends, as one would send it without the dashboard.

import { Copy } from "./copy.tsx";

export interface RequestWords {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With its query. */
  readonly path: string;
  readonly json?: unknown;
  readonly cli?: string;
  readonly typescript?: string;
}

export function CopyAs({ request }: { readonly request: RequestWords }) {
  const forms: readonly (readonly [string, string | undefined])[] = [
    ["curl", asCurl(request)],
    ["CLI", request.cli],
    ["TypeScript", request.typescript],
  ];
  return (
    <details class="copy-as">
      <summary>Copy as</summary>
      <div class="menu">
        {forms.map(
          ([name, text]) =>
            text !== undefined && (
              <div key={name}>
                <span class="label">{name}</span>
                <Copy text={text} label={`as ${name}`} />
                <pre tabIndex={0} aria-label={`As ${name}`}>
                  {text}
                </pre>
              </div>
            ),
        )}
      </div>
    </details>
  );
}

function asCurl({ method, path, json }: RequestWords): string {
  const parts = ["curl", ...(method === "GET" ? [] : ["-X", method]), quoted(location.origin + path)];
  parts.push("-H", '"Authorization: Bearer $SKERRY_API_TOKEN"');
  if (json !== undefined)
    parts.push("-H", "'Content-Type: application/json'", "-d", quoted(JSON.stringify(json)));
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

/** A call of the client: `tokens.create` with these arguments. */
export function call(method: string, ...args: readonly unknown[]): string {
  return `await skerry.${method}(${args.map((one) => JSON.stringify(one)).join(", ")});`;
}

/** The same for one that gives item by item. */
export function callForEach(method: string, item: string, ...args: readonly unknown[]): string {
  const list = `skerry.${method}(${args.map((one) => JSON.stringify(one)).join(", ")})`;
  return `for await (const ${item} of ${list}) console.log(${item});`;
}

/** For a shell, as one word. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
