// The request that a form or a list sends, as one would send it without the dashboard.

import { Copy } from "./copy.tsx";

export interface RequestWords {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
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

/** For a shell, as one word. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
