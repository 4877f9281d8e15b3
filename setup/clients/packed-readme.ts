// The description of a client, as it is packed.

import { readFileSync } from "node:fs";

const LINK = /\[([^\]]+)\]\(([^)\s]+)\)/g;

/** Without the links to other files of the checkout, which are not in the package; their words stay. */
export function packedReadme(path: string): string {
  return readFileSync(path, "utf8").replaceAll(LINK, (link, words: string, target: string) =>
    /^(https?:|#)/.test(target) ? link : words,
  );
}

/** Where its links lead to. */
export function linksOf(readme: string): string[] {
  return [...readme.matchAll(LINK)].map(([, , target = ""]) => target);
}
