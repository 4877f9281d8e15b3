// The version of Node that an app asks for: `engines` and `volta` in package.json, and the files of version
// managers, each by its own grammar.

import type { ContextFiles } from "../build-plan.ts";
import { fileFault, objectField, stringField, textOf, type JsonObject } from "./manifests.ts";
import { isInRange } from "./node-range.ts";
import { toolVersions, versionLine } from "./version-files.ts";

/** Version in the built-in template `node`: Debian 12's. */
const TEMPLATE_NODE = [18, 20, 4] as const;

/** Lines with long support by their names, the newest last. */
const LTS_LINES: Readonly<Record<string, number>> = {
  ...{ argon: 4, boron: 6, carbon: 8, dubnium: 10, erbium: 12, fermium: 14 },
  ...{ gallium: 16, hydrogen: 18, iron: 20, jod: 22, krypton: 24 },
};
const NEWEST: ReadonlySet<string> = new Set(["node", "latest", "current", "stable"]);

export interface WantedNode {
  /** Version that npm installs; undefined where the template's will do. */
  readonly range: string | undefined;
  readonly why: string;
}

interface Asked {
  readonly source: string;
  readonly text: string;
}

/** Undefined where nothing asks for one. */
export function wantedNode(found: ContextFiles, json: JsonObject): WantedNode | undefined {
  const asked = askedFor(found, json);
  if (asked === undefined) return undefined;
  const { source, text } = asked;
  const range = rangeOf(text);
  const shown = JSON.stringify(text.slice(0, 100));
  if (range === undefined && source === ENGINES)
    throw fileFault(
      "package.json",
      `asks for Node ${shown}, which is no range of versions`,
      "Ranges look like `20`, `>=18 <21` or `^20.11.0`.",
    );
  if (range === undefined)
    return {
      range,
      why: `${source} asks for Node ${shown}, which names no version that is known here: the template's Node is used.`,
    };
  if (range !== "latest" && isInRange(range, TEMPLATE_NODE) === true)
    return { range: undefined, why: "The template's Node will do." };
  const meant = range === text ? text : `${text} (${range})`;
  return { range, why: `${source} asks for Node ${meant}, so that version is installed.` };
}

const ENGINES = "`engines` in package.json";

function askedFor(found: ContextFiles, json: JsonObject): Asked | undefined {
  const engines = stringField("package.json", objectField("package.json", json, "engines"), "node");
  const volta = stringField("package.json", objectField("package.json", json, "volta"), "node");
  const ofFile = (file: string) => versionLine(textOf(found, file));
  const all: readonly (readonly [source: string, text: string | undefined])[] = [
    [ENGINES, engines?.trim()],
    ["`volta` in package.json", volta?.trim()],
    [".nvmrc", ofFile(".nvmrc")],
    [".node-version", ofFile(".node-version")],
    [".tool-versions", toolVersions(textOf(found, ".tool-versions"), ["nodejs", "node"])],
  ];
  const [source, text] = all.find(([, one]) => one !== undefined && one !== "") ?? [];
  return source === undefined || text === undefined ? undefined : { source, text };
}

/** As npm takes it; undefined where it names none. */
function rangeOf(text: string): string | undefined {
  const word = text.toLowerCase();
  if (NEWEST.has(word)) return "latest";
  const [, ofLine] = /^latest[:-]v?(\d[\d.x]*)$/.exec(word) ?? [];
  if (ofLine !== undefined) return ofLine;
  const lines = Object.values(LTS_LINES);
  if (/^lts(?:\/\*)?$/.test(word)) return String(lines.at(-1));
  const [, back] = /^lts\/-(\d{1,2})$/.exec(word) ?? [];
  if (back !== undefined) return lines.at(-1 - Number(back))?.toString();
  const [, name = ""] = /^(?:lts[/-])?([a-z]+)$/.exec(word) ?? [];
  if (Object.hasOwn(LTS_LINES, name)) return String(LTS_LINES[name]);
  return isInRange(text, TEMPLATE_NODE) === undefined ? undefined : text;
}
