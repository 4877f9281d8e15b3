// docs/e2b-compatibility.md as text: a section for each client, which the end-to-end test of it compares or writes anew.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { markdownTable } from "../../setup/markdown-table.ts";
import { families, type Family } from "./families.ts";
import type { Row } from "./operation.ts";

const target = join(import.meta.dirname, "../../docs/e2b-compatibility.md");

type Client = Pick<Family<never>, "name" | "versions" | "notTried">;

const head = `# What of E2B's clients works

Each operation of E2B's published clients, tried against a platform with real microVMs. This page is written by the program that tries them, never by hand:

\`\`\`sh
SKERRY_TEST_FULL=1 npx vitest run --project end-to-end tests/e2b-compatibility.test.ts                          # compares
SKERRY_TEST_FULL=1 SKERRY_COMPATIBILITY=write npx vitest run --project end-to-end tests/e2b-compatibility.test.ts # renews this page
\`\`\`

\`npm run test:full\` does the first, and fails where what it sees is not what stands here; \`npm test\` fails where a public method of a client is neither tried nor named as not tried.

- **works**: it did what the client's documentation says
- **refused**: the server answered that it does not do this, and why: 400 where a field or a value is not taken, 501 where all of that part is missing
- **fails**: anything else, in the words of the error
- **not in this version**: the client has no such operation

[E2B's clients](e2b.md) says how these operations are meant here.`;

const titleOf = ({ name }: Pick<Client, "name">) => `## \`${name}\``;

/** What was seen, as this client's section. */
export function sectionFor(client: Client, rows: readonly Row[]): string {
  const areas = [...new Set(rows.map(({ area }) => area))];
  const tables = areas.map((area) => {
    const lines = rows.filter((row) => row.area === area).map(({ name, cells }) => [name, ...cells]);
    return `### ${area}\n\n${markdownTable(["operation", ...client.versions], lines)}`;
  });
  return [titleOf(client), ...tables, ...untried(client)].join("\n\n");
}

function untried({ notTried }: Client): readonly string[] {
  const reasons = [...new Set(Object.values(notTried))];
  if (reasons.length === 0) return [];
  const lines = reasons.map((reason) => {
    const names = Object.entries(notTried).filter(([, why]) => why === reason);
    return `- ${names.map(([name]) => `\`${name}\``).join(", ")}: ${reason}`;
  });
  return ["### Not tried", lines.join("\n")];
}

/** This client's section of the committed page; empty where there is none. */
export async function committedSection(client: Pick<Client, "name">): Promise<string> {
  const page = await readFile(target, "utf8").catch(() => "");
  const begin = page.indexOf(`${titleOf(client)}\n`);
  if (begin === -1) return "";
  const end = page.indexOf("\n## ", begin);
  return page.slice(begin, end === -1 ? undefined : end).trimEnd();
}

/** Writes the page anew, with this section and the others as they are. */
export async function writeSection(client: Pick<Client, "name">, section: string): Promise<void> {
  const sections: string[] = [];
  for (const family of families)
    sections.push(family.name === client.name ? section : await committedSection(family));
  const parts = [head, ...sections.filter((text) => text !== "")];
  await writeFile(target, `${parts.join("\n\n")}\n`);
}
