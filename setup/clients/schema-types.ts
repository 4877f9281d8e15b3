// TypeScript types of JSON schemas: what the compiler makes of the contract's schemas, written out, so that a package that is published needs
// neither the schemas nor the library that they are made with. Descriptions become comments.

import { durationPattern } from "@skerry/contract/durations";

export interface Schema {
  readonly $id?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly pattern?: string;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
}

/** How a type calls what is declared elsewhere. */
export interface SchemaNames {
  /** Undefined where no export has the schema. */
  find(id: string): string | undefined;
  duration(): string;
  size(): string;
}

/** The type of a schema, on as many lines as it takes. What has a name elsewhere is called by it. */
export function typeOf(schema: Schema, names: SchemaNames, indent = ""): string {
  const name = schema.$id === undefined ? undefined : names.find(schema.$id);
  return name ?? typeWithoutName(schema, names, indent);
}

export function typeWithoutName(schema: Schema, names: SchemaNames, indent = ""): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined)
    return union(schema.enum.map((value) => JSON.stringify(value)).concat(nullOf(schema)));
  if (schema.anyOf !== undefined) return union(schema.anyOf.map((one) => typeOf(one, names, indent)));
  const types = [schema.type ?? []].flat();
  if (types.length === 0) return "unknown";
  return union(types.map((type) => typeOfOne(type, schema, names, indent)));
}

function typeOfOne(type: string, schema: Schema, names: SchemaNames, indent: string): string {
  switch (type) {
    case "string":
      return schema.pattern === durationPattern ? names.duration() : "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
    case "null":
      return type;
    case "array": {
      const item = typeOf(schema.items ?? {}, names, indent);
      return item.includes("|") ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      return typeOfObject(schema, names, indent);
    default:
      throw new Error(`a schema has the type ${type}, which has no TypeScript type here`);
  }
}

function typeOfObject(schema: Schema, names: SchemaNames, indent: string): string {
  if (schema.properties === undefined) return `Record<string, ${typeOfRest(schema, names, indent)}>`;
  const inner = `${indent}  `;
  const fields = Object.entries(schema.properties).map(([field, part]) => {
    const optional = schema.required?.includes(field) === true ? "" : "?";
    // Sizes are a closed set of names, so a wrong one need not wait for the server.
    const isSizeName = field === "size" || (schema.$id === "Size" && field === "name");
    const type = isSizeName && part.type === "string" ? names.size() : typeOf(part, names, inner);
    return `${comment(part.description, inner)}${inner}${propertyName(field)}${optional}: ${type};\n`;
  });
  return fields.length === 0 ? "Record<string, never>" : `{\n${fields.join("")}${indent}}`;
}

/** What a record's values are. */
function typeOfRest(
  { patternProperties = {}, additionalProperties }: Schema,
  names: SchemaNames,
  indent: string,
): string {
  const values = [
    ...Object.values(patternProperties),
    ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
  ];
  return values.length === 0 ? "unknown" : union(values.map((value) => typeOf(value, names, indent)));
}

function nullOf({ type, enum: words = [] }: Schema): string[] {
  return [type].flat().includes("null") && !words.includes(null) ? ["null"] : [];
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(" | ");
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

export function comment(text: string | undefined, indent = ""): string {
  return text === undefined ? "" : `${indent}/** ${text.replaceAll("*/", "*\\/")} */\n`;
}
