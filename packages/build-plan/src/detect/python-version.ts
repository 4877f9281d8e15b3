// The version of Python that an app asks for. There is the template's alone, so that of another one is told.

import type { ContextFiles } from "../build-plan.ts";
import { textOf, tomlTables } from "./manifests.ts";
import { isInRange } from "./node-range.ts";
import { toolVersions, versionLine } from "./version-files.ts";

/** Version in the built-in template `python`: Debian 12's. */
const TEMPLATE_PYTHON = [3, 11, 2] as const;

/** Undefined where the template's will do, or nothing asks for one. */
export function pythonWhy(found: ContextFiles): string | undefined {
  for (const [source, text] of askedFor(found)) {
    if (text === undefined || text === "") continue;
    if (isTemplates(text)) return undefined;
    return `${source} asks for Python ${text.slice(0, 100)}: builds have ${TEMPLATE_PYTHON.slice(0, 2).join(".")}, and that is used. Write a Dockerfile for another one.`;
  }
  return undefined;
}

function askedFor(found: ContextFiles): readonly (readonly [source: string, text: string | undefined])[] {
  const tables = tomlTables(textOf(found, "pyproject.toml") ?? "");
  const pipfile = tomlTables(textOf(found, "Pipfile") ?? "").get("requires");
  return [
    [".python-version", versionLine(textOf(found, ".python-version"))],
    ["runtime.txt", versionLine(textOf(found, "runtime.txt"))],
    [".tool-versions", toolVersions(textOf(found, ".tool-versions"), ["python"])],
    ["pyproject.toml", valueIn(tables.get("project"), "requires-python")],
    ["pyproject.toml", valueIn(tables.get("tool.poetry.dependencies"), "python")],
    ["Pipfile", valueIn(pipfile, "python_full_version") ?? valueIn(pipfile, "python_version")],
  ];
}

/** A string of a table. */
function valueIn(table = "", key: string): string | undefined {
  for (const line of table.split("\n")) {
    const [name = "", ...value] = line.split("=");
    if (name.trim().replaceAll(/["']/g, "") !== key) continue;
    return /^\s*(["'])([^"'\n]{1,200})\1/.exec(value.join("="))?.[2]?.trim();
  }
  return undefined;
}

/** No range is longer. */
const TEXT_MAX_CHARS = 200;

/** A version counts by its first two numbers; `python-3.11.4` is one, too. Of a range each part has to hold.
 *  */
function isTemplates(text: string): boolean {
  if (text.length > TEXT_MAX_CHARS) return false;
  const [, version] = /^(?:c?python-?)?v?(\d+(?:\.\d+)?)(?:\.\d+)?$/i.exec(text) ?? [];
  if (version !== undefined) return isInRange(version, TEMPLATE_PYTHON) === true;
  return text.split("||").some((some) => some.split(",").every((part) => holds(part.trim())));
}

/** As npm's ranges say it. */
function holds(part: string): boolean {
  const [, operator = "", text = ""] = /^([=!<>~^]*)\s*(\S*)$/.exec(part) ?? [];
  const range = text.replace(/(?:\.\*)+$/, "");
  if (operator === "!=") return isInRange(range, TEMPLATE_PYTHON) !== true;
  // Up to the next number before its last.
  if (operator === "~=")
    return isInRange(`${range.split(".").length > 2 ? "~" : "^"}${range}`, TEMPLATE_PYTHON) === true;
  return isInRange(`${operator.replace(/^={2,3}$/, "")}${range}`, TEMPLATE_PYTHON) === true;
}
