// The types of the Python client, made of the OpenAPI document: a TypedDict for each schema, a Literal for each list of words, and the HTTP
// status of each error code. The sizes are a closed list too, which the document does not have: an unknown one is a refusal of its own.

import { sizes } from "@skerry/contract/sizes";

type Json = { readonly [key: string]: unknown };

interface Field {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
}

const HEAD = `"""What the API takes and answers: made of its OpenAPI document by setup/write-clients.ts. Do not edit."""

from __future__ import annotations

from typing import Dict, List, Literal, Mapping, Optional, TypedDict
`;

/** \`Sandbox\` is the one in hand; what the server says about it has another name. */
const RENAMED: Readonly<Record<string, string>> = { Sandbox: "SandboxInfo" };

/** Fields that have the same words wherever they are. */
const SHARED_WORDS: Readonly<Record<string, string>> = {
  role: "Role",
  scopes: "Scope",
  egress_default: "EgressMode",
};

const SIZE_NAME = "SizeName";

const LINE_MAX_CHARS = 120;

/** The module of types, and how it calls the type of a field. */
export interface PythonTypes {
  readonly text: string;
  /** Types by schema and field, such as `Snapshot.status`. */
  readonly fields: ReadonlyMap<string, string>;
  /** The name of a list of words that is this one. */
  findWords(words: readonly string[]): string | undefined;
}

export function pythonTypes(document: Json): PythonTypes {
  const schemas = (document["components"] as Json)["schemas"] as Readonly<Record<string, Json>>;
  const file = new TypesFile();
  file.addWords(
    SIZE_NAME,
    sizes.map(({ name }) => name),
  );
  for (const [name, schema] of Object.entries(schemas)) file.addObject(pythonName(name), schema);
  const entries = errorStatuses(document).map(([code, status]) => `    "${code}": ${status},\n`);
  const table = `#: The HTTP status that each error code comes with.\nERROR_STATUS: Mapping[str, int] = {\n${entries.join("")}}\n`;
  const text = `${HEAD}\n${[...file.words.values()].join("\n")}\n${table}\n\n${file.classes.join("\n\n")}`;
  const findWords = (words: readonly string[]) =>
    [...file.words].find(([name, own]) => own === wordsText(name, words))?.[0];
  return { text, fields: file.fields, findWords };
}

class TypesFile {
  /** By their names. */
  readonly words = new Map<string, string>();
  readonly classes: string[] = [];
  readonly fields = new Map<string, string>();

  /** Objects within it come before it, under its name and that of their field. */
  addObject(name: string, schema: Json): string {
    const required = new Set((schema["required"] ?? []) as string[]);
    const properties = Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, Json>>);
    const fields = properties.map(([field, part]) => ({
      name: field,
      type:
        isSizeName(name, field) && part["type"] === "string"
          ? SIZE_NAME
          : this.#typeOf(SHARED_WORDS[field] ?? name + capitalized(field), part),
      isRequired: required.has(field),
      description: typeof part["description"] === "string" ? part["description"] : "",
    }));
    for (const field of fields) this.fields.set(`${name}.${field.name}`, field.type);
    this.classes.push(...classesOf(name, fields));
    return name;
  }

  addWords(name: string, words: readonly string[]): string {
    const text = wordsText(name, words);
    if ((this.words.get(name) ?? text) !== text) throw new Error(`two lists of words have the name ${name}`);
    this.words.set(name, text);
    return name;
  }

  #typeOf(name: string, schema: Json): string {
    const { $ref: reference, enum: words, type } = schema;
    if (typeof reference === "string") return pythonName(reference.split("/").at(-1) ?? "");
    const types = Array.isArray(type) ? (type as string[]) : [String(type)];
    const plain = types.filter((one) => one !== "null");
    const found = Array.isArray(words)
      ? this.addWords(
          name,
          words.filter((word): word is string => typeof word === "string"),
        )
      : this.#plainTypeOf(name, { ...schema, type: plain[0] });
    if (plain.length !== 1)
      throw new Error(`${name}: a type of ${types.join(" and ")} has no name in Python`);
    return types.length > plain.length ? `Optional[${found}]` : found;
  }

  #plainTypeOf(name: string, schema: Json): string {
    switch (schema["type"]) {
      case "string":
        return "str";
      case "integer":
        return "int";
      case "number":
        return "float";
      case "boolean":
        return "bool";
      case "array":
        return `List[${this.#typeOf(name, schema["items"] as Json)}]`;
      case "object":
        if (schema["properties"] !== undefined) return this.addObject(name, schema);
        return `Dict[str, ${this.#valueTypeOf(name, schema)}]`;
      default:
        throw new Error(`${name}: the type ${JSON.stringify(schema["type"])} has no name in Python`);
    }
  }

  /** Of the values of an object whose names are the user's. */
  #valueTypeOf(name: string, schema: Json): string {
    const values = (schema["additionalProperties"] ?? {}) as Json;
    return values["type"] === undefined ? "object" : this.#typeOf(`${name}Value`, values);
  }
}

function isSizeName(name: string, field: string): boolean {
  return field === "size" || (name === "Size" && field === "name");
}

/** Python 3.9 knows no optional fields beside required ones: the required ones are a class of their own, below. */
function classesOf(name: string, all: readonly Field[]): string[] {
  const reserved = all.filter((field) => PYTHON_KEYWORDS.has(field.name));
  if (reserved.length > 0) {
    const rest = classesOf(
      `_${name}Named`,
      all.filter((field) => !reserved.includes(field)),
    );
    const parts = [reservedOf(`_${name}Reserved`, reserved), ...rest];
    return [...parts, `class ${name}(_${name}Named, _${name}Reserved):\n    pass\n`];
  }

  const required = all.filter(({ isRequired }) => isRequired);
  const optional = all.filter(({ isRequired }) => !isRequired);
  if (optional.length === 0) return [classOf(name, "TypedDict", required)];
  if (required.length === 0) return [classOf(name, "TypedDict, total=False", optional)];
  return [
    classOf(`_${name}Required`, "TypedDict", required),
    classOf(name, `_${name}Required, total=False`, optional),
  ];
}

/** The language's own words, in lower case. */
const PYTHON_KEYWORDS: ReadonlySet<string> = new Set(
  (
    "and as assert async await break class continue def del elif else except finally for from global if import in " +
    "is lambda nonlocal not or pass raise return try while with yield"
  ).split(" "),
);

/** A class cannot have them, but a dictionary can. All of them are of one sort, so that is one more class. */
function reservedOf(name: string, fields: readonly Field[]): string {
  const isRequired = fields.every((field) => field.isRequired);
  if (!isRequired && fields.some((field) => field.isRequired)) throw new Error(`${name}: of two sorts`);
  const entries = fields.map((field) => `"${field.name}": ${field.type}`).join(", ");
  return `${name} = TypedDict("${name}", {${entries}}${isRequired ? "" : ", total=False"})\n`;
}

function classOf(name: string, parents: string, fields: readonly Field[]): string {
  const lines = fields.map(({ name: field, type, description }) => {
    if (!/^[a-z_][a-z0-9_]*$/.test(field))
      throw new Error(`${name}: the field ${field} has no name in Python`);
    return `${comment(description)}    ${field}: ${type}\n`;
  });
  return `class ${name}(${parents}):\n${lines.length === 0 ? "    pass\n" : lines.join("")}`;
}

function comment(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < LINE_MAX_CHARS - 8)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => `    #: ${line}\n`).join("");
}

/** By code, in the order of the codes: what the answers of all operations say. */
function errorStatuses(document: Json): [code: string, status: number][] {
  const found = new Map<string, number>();
  const shared = (document["components"] as Json)["responses"] as Readonly<Record<string, Json>>;
  for (const path of Object.values(document["paths"] as Json)) {
    for (const operation of Object.values(path as Json) as Json[]) {
      for (const [status, answer] of Object.entries(
        operation["responses"] as Readonly<Record<string, Json>>,
      )) {
        const reference = answer["$ref"];
        const whole = typeof reference === "string" ? shared[reference.split("/").at(-1) ?? ""] : answer;
        for (const code of codesIn(whole)) found.set(code, Number(status));
      }
    }
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function codesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const code = ((value as Json)["properties"] as Json | undefined)?.["code"] as Json | undefined;
  if (Array.isArray(code?.["enum"])) return code["enum"] as string[];
  return Object.values(value).flatMap(codesIn);
}

function wordsText(name: string, words: readonly string[]): string {
  return `${name} = Literal[\n${words.map((word) => `    ${JSON.stringify(word)},\n`).join("")}]\n`;
}

export function pythonName(name: string): string {
  return RENAMED[name] ?? name;
}

function capitalized(field: string): string {
  return field.replaceAll(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
