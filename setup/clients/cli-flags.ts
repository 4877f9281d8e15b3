// Flags of the command line that follow from the fields of an operation's query or body, and the calls of
// `skerry api`, as data: reading the schemas themselves would slow the start of each command.

import { clientMethods, parametersOf, type Parameter } from "./client-methods.ts";

const HEAD = `// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

/** A flag for one field of a query or of a body. */
export interface Flag {
  /** Name in the API. */
  readonly field: string;
  readonly help: string;
  readonly kind: "text" | "number" | "boolean" | "list" | "pairs";
  /** Word for its value in the help. */
  readonly placeholder: string;
  /** Values that it can have. */
  readonly words?: readonly string[];
}

`;

/** Text of the module: the flags of each operation whose fields are plain. */
export function cliFlags(): string {
  const entries = clientMethods.flatMap(({ operationId, body, query }) => {
    const fields = [...query, ...parametersOf(body?.schema)];
    const all = fields.map(flagOf);
    return all.length === 0 || all.includes(undefined) ? [] : [`  ${operationId}: ${JSON.stringify(all)},\n`];
  });
  return `${HEAD}export const flags = {\n${entries.join("")}} as const satisfies Readonly<Record<string, readonly Flag[]>>;

export type OperationFlags = keyof typeof flags;
`;
}

const CALLS_HEAD = `// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

/** A method of the TypeScript client. */
export interface ApiCall {
  readonly operation: string;
  readonly summary: string;
  /** Arguments before the fields. */
  readonly parameters: readonly string[];
  /** Whether it takes fields, and which of them stand in the query. */
  readonly body?: true;
  readonly query?: readonly string[];
}

`;

/** Text of the module that \`skerry api\` reads. */
export function cliCalls(): string {
  const entries = clientMethods.map(
    ({ body, collection, name, operationId, pathParameters, query, summary }) => {
      const call = {
        ...{ operation: operationId, summary, parameters: pathParameters },
        ...(body !== undefined && { body: true }),
        ...(query.length > 0 && { query: query.map((parameter) => parameter.name) }),
      };
      return `  "${collection === undefined ? name : `${collection}.${name}`}": ${JSON.stringify(call)},\n`;
    },
  );
  return `${CALLS_HEAD}export const calls: Readonly<Record<string, ApiCall>> = {\n${entries.join("")}};\n`;
}

/** Undefined for a field that is no text, number, boolean, list of texts or map of texts. */
function flagOf({ name, schema }: Parameter) {
  const types = [schema.type ?? []].flat().filter((type) => type !== "null");
  const kind = kindOf(String(types[0]), schema.items?.type, schema.patternProperties !== undefined);
  const words = schema.enum ?? schema.items?.enum;
  if (types.length !== 1 || kind === undefined) return undefined;
  return {
    field: name,
    help: helpOf(schema.description ?? ""),
    kind,
    placeholder: placeholderOf(name, kind, words !== undefined),
    ...(words !== undefined && { words: words.filter((word) => word !== null) }),
  };
}

function kindOf(type: string, items: unknown, isMap: boolean) {
  if (type === "string") return "text";
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "boolean";
  if (type === "array" && items === "string") return "list";
  return type === "object" && isMap ? "pairs" : undefined;
}

function placeholderOf(name: string, kind: string, hasWords: boolean): string {
  if (kind === "pairs") return "KEY=VALUE";
  if (hasWords) return name === "status" ? "status" : "word";
  return name.endsWith("_id") || ["host", "vm"].includes(name) ? "id" : (name.split("_").at(-1) ?? name);
}

/** The description as help has it: without a capital and a full stop. */
function helpOf(description: string): string {
  const text = description.replaceAll("`", "").replace(/\.$/, "");
  return text.charAt(0).toLowerCase() + text.slice(1);
}
