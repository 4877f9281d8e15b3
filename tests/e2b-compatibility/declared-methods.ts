// The public methods of a published client, read from its type declarations: the tables of operations are held against them.

import { readFile } from "node:fs/promises";

const OWNER = /^declare (?:abstract )?class (\w+)|^(?:export )?interface (\w+)/;
const METHOD =
  /^(?: {2}| {4})(static )?(?!private|protected|constructor|get |set )(?:abstract )?(\w+)(?:<[^(]*>)?\(/;
const FUNCTION = /^declare function (\w+)/;

/** Of all classes and of no interface, or of these. */
export async function declaredMethods(declarations: string, owners?: readonly string[]): Promise<string[]> {
  const methods = new Set<string>();
  let within: string | undefined;
  for (const line of (await readFile(declarations, "utf8")).split("\n")) {
    if (line === "}") within = undefined;
    const owner = OWNER.exec(line);
    if (owner !== null) within = wantedOwner(owner, owners);
    const name = nameIn(line, within);
    if (name !== undefined && (within !== undefined || owners === undefined)) methods.add(name);
  }
  return [...methods];
}

function wantedOwner([, ofClass, ofInterface]: RegExpExecArray, owners?: readonly string[]) {
  if (owners === undefined) return ofClass;
  const owner = ofClass ?? ofInterface ?? "";
  return owners.includes(owner) ? owner : undefined;
}

/** Of a method where it is in a class or an interface, and otherwise of a function that stands alone. */
function nameIn(line: string, within: string | undefined): string | undefined {
  if (within === undefined) return FUNCTION.exec(line)?.[1];
  const method = METHOD.exec(line);
  return method === null ? undefined : `${method[1] ?? ""}${within}.${method[2]}`;
}
