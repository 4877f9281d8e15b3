// The calls into a microVM of one that is in hand, for Python: each method of `AsyncVmCalls` with its id
// filled in, and with the same docstring.

import { importsText } from "./python-methods.ts";

const HEAD = `"""Calls of a microVM in hand. Written by setup/write-clients.ts from _vm_calls.py. Do not edit."""

from __future__ import annotations

`;

interface Method {
  readonly begins: string;
  readonly name: string;
  /** After the id. */
  readonly parameters: readonly string[];
  readonly result: string;
  readonly docstring: string;
}

/** `calls`: the text of `_vm_calls.py`. */
export function boundCalls(calls: string): string {
  const methods = methodsOf(calls).map(methodText);
  const text = `@tells_names
class AsyncBoundCalls:
    """The methods of \`\`AsyncVmCalls\`\`, with the id filled in."""

    def __init__(self, calls: AsyncVmCalls, id: str) -> None:
        self._calls = calls
        self._id = id

    @property
    def id(self) -> str:
        return self._id

${methods.join("\n")}`;
  return `${HEAD}${importsFor(text, calls)}\n\n${text}`;
}

function methodsOf(text: string): Method[] {
  const pattern =
    /^ {4}((?:async )?def) ([a-z]\w*)\(\s*self,\s*id: str,?\s*([^]*?),?\s*\) -> ([^:]+):\n( {8}"""[^]*?"""\n)/gm;
  return [...text.matchAll(pattern)]
    .map(([, begins = "", name = "", parameters = "", result = "", docstring = ""]) => ({
      ...{ begins, name, result, docstring },
      parameters: topLevel(parameters),
    }))
    .filter(({ name }) => name !== "files");
}

function methodText({ begins, name, parameters, result, docstring }: Method): string {
  const star = parameters.indexOf("*");
  const names = parameters.map((parameter) => /^\w+/.exec(parameter)?.[0] ?? "");
  const given = names.flatMap((one, index) => {
    if (one === "") return [];
    return star !== -1 && index > star ? `${one}=${one}` : one;
  });
  const call = `return ${begins.startsWith("async") ? "await " : ""}self._calls.${name}(`;
  const args = ["self._id", ...given];
  const line = `        ${call}${args.join(", ")})\n`;
  const body =
    line.length <= 120
      ? line
      : `        ${call}\n${args.map((arg) => `            ${arg},\n`).join("")}        )\n`;
  const head = `    ${begins} ${name}(${["self", ...parameters].join(", ")}) -> ${result}:\n`;
  const signature =
    head.length <= 120
      ? head
      : `    ${begins} ${name}(\n${["self", ...parameters].map((one) => `        ${one},\n`).join("")}    ) -> ${result}:\n`;
  return `${signature}${docstring}${body}`;
}

/** Parts between the commas that are in no bracket. */
function topLevel(text: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const char of text.replaceAll(/\s+/g, " ")) {
    if ("[(".includes(char)) depth += 1;
    if ("])".includes(char)) depth -= 1;
    if (char === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/** The imports of the module that are used here, which lies one folder deeper. */
function importsFor(text: string, calls: string): string {
  const code = text.replaceAll(/"""[^]*?"""/g, "");
  const isUsed = (name: string) => name !== "" && new RegExp(String.raw`\b${name}\b`).test(code);
  const imports = [...calls.matchAll(/^from (\S+) import (?:\(([^)]*)\)|(.+))$/gm)].flatMap(
    ([, from = "", many = "", one = ""]): [string, ReadonlySet<string>][] => {
      const names = `${many}${one}`.split(",").map((name) => name.trim());
      const used = new Set(names.filter(isUsed));
      if (from === "__future__" || from === ".._other_names" || used.size === 0) return [];
      return [[from.startsWith(".") ? `.${from}` : from, used]];
    },
  );
  const own = new Set(["DOWNLOAD_MAX_BYTES", "AsyncVmCalls"].filter(isUsed));
  return importsText([...imports, [".._vm_calls", own], ["..._other_names", new Set(["tells_names"])]]);
}
