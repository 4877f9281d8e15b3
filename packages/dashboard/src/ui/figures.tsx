// A table of few rows, all of them in the page.

import type { ComponentChildren } from "preact";

interface FiguresProps {
  readonly label: string;
  readonly headings: readonly string[];
  readonly rows: readonly { readonly key: string; readonly cells: readonly ComponentChildren[] }[];
}

export function Figures({ label, headings, rows }: FiguresProps) {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={label}>
      <table class="figures">
        <thead>
          <tr>
            {headings.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, index) => (
                <td key={index}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
