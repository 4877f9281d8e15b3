// The generated part of the asynchronous Python client, from which the synchronous one is made: a class for
// each collection, and one for the client itself.

import {
  collections,
  extended,
  ownMethods,
  parametersOf,
  pascalCase,
  snakeCase,
  watchedOf,
  type ClientMethod,
} from "./client-methods.ts";
import { pythonName, type PythonTypes } from "./python-types.ts";
import { docOf, wrapped } from "./sdk-methods.ts";
import type { Schema } from "./schema-types.ts";

const COLUMNS = 120;
const INDENT = " ".repeat(8);

const HEAD = (doc: string) =>
  `"""${doc} Written by setup/write-clients.ts from the API's declarations. Do not edit."""\n\nfrom __future__ import annotations\n\n`;

/** Texts of `skerry/_async/_generated`, by file name. */
export function pythonFiles(types: PythonTypes): ReadonlyMap<string, string> {
  const files = new Map<string, string>([["__init__.py", ""]]);
  for (const [collection, methods] of collections)
    files.set(`_${snakeCase(collection)}.py`, collectionFile(collection, methods, new Imports(types)));
  files.set("_client.py", clientFile(new Imports(types)));
  return files;
}

function className(collection: string): string {
  return `Async${extended.has(collection) ? "Generated" : ""}${pascalCase(collection)}`;
}

function collectionFile(collection: string, methods: readonly ClientMethod[], imports: Imports): string {
  const parts = methods.map((method) => methodText(method, imports));
  const watched = watchedOf(methods);
  if (watched !== undefined) {
    const item = imports.type(pythonName(watched.item.$id));
    const status = imports.field(`${item}.status`);
    const { parameter } = watched;
    imports.use("typing", "Sequence", "Union");
    imports.use(".._wait", "WAIT_S", "wait_for_status");
    parts.push(`    async def wait(
        self, ${parameter}: str, until: Union[${status}, Sequence[${status}]], *, timeout_s: float = WAIT_S
    ) -> ${item}:
        """Returns when its \`\`status\`\` is \`\`until\`\`, or one of them. Raises \`\`SkerryStatusError\`\` where it has ended in another one, and
        after \`\`timeout_s\`\` seconds."""
        return await wait_for_status("${watched.kind}", self.get, ${parameter}, until, timeout_s)
`);
  }
  imports.use(".._http", "AsyncHttp");
  const title = pascalCase(collection).replaceAll(/(?<!^)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `${HEAD(`${title}.`)}${imports.text()}

class ${className(collection)}:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

${parts.join("\n")}`;
}

function clientFile(imports: Imports): string {
  const plain = [...collections.keys()].filter((collection) => !extended.has(collection));
  const parts = ownMethods.map((method) => methodText(method, imports));
  imports.use(".._http", "AsyncHttp");
  for (const collection of plain) imports.use(`._${snakeCase(collection)}`, className(collection));
  return `${HEAD("The client's collections and calls that need nothing but their declarations.")}${imports.text()}

class AsyncGeneratedClient:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http
${plain.map((name) => `        self.${snakeCase(name)} = ${className(name)}(http)\n`).join("")}
${parts.join("\n")}`;
}

interface Argument {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
}

function methodText(method: ClientMethod, imports: Imports): string {
  imports.use("..._request", "Request");
  const body = bodyOf(method, imports);
  const query = method.query.map(({ name, schema, isRequired }) => ({
    ...{ name, isRequired, type: imports.queryType(schema) },
  }));
  const key = method.creates ? [{ name: "idempotency_key", type: "str", isRequired: false }] : [];
  const fields = [...body.fields, ...query, ...key];
  // Required arguments come first.
  const named = fields.toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
  if (named.some(({ isRequired }) => !isRequired)) imports.use("typing", "Optional");
  const parts = {
    ...{ body, query, named },
    places: [...method.pathParameters.map((parameter) => `${parameter}: str`), ...body.places],
  };
  return method.answer.kind === "page"
    ? pageMethods(method, parts, imports)
    : plainMethod(method, parts, imports);
}

interface Parts {
  readonly body: Body;
  readonly query: readonly Argument[];
  /** Arguments without a name at the call, and with one. */
  readonly places: readonly string[];
  readonly named: readonly Argument[];
}

function plainMethod(method: ClientMethod, { body, query, places, named }: Parts, imports: Imports): string {
  const { answer, name } = method;
  const request = requestText(method, body, query, imports);
  const head = (result: string) =>
    signature(`async def ${snakeCase(name)}`, places, named, result) + docstring(method);
  if (answer.kind === "nothing") return `${head("None")}${INDENT}await self._http.done(${request})\n`;
  const whole = imports.type(pythonName(answer.schema.$id));
  if (answer.kind === "one")
    return `${head(whole)}${statement("return await self._http.json(", [request, whole])}`;
  if (answer.kind !== "items") throw new Error(`${name} has pages`);
  imports.use("typing", "List");
  return `${head(`List[${imports.itemType(answer.item)}]`)}${INDENT}found = await self._http.json(${request}, ${whole})
${INDENT}return found["items"]
`;
}

const PAGING: readonly Argument[] = [
  { name: "limit", type: "int", isRequired: false },
  { name: "cursor", type: "str", isRequired: false },
];

/** The list, which is read page by page, and one page of it. */
function pageMethods(method: ClientMethod, parts: Parts, imports: Imports): string {
  const { answer, pathParameters } = method;
  const { body, query, places, named } = parts;
  if (answer.kind !== "page") throw new Error(`${method.name} has no pages`);
  const name = snakeCase(method.name);
  const item = imports.itemType(answer.item);
  const whole = imports.type(pythonName(answer.schema.$id));
  imports.use("typing", "AsyncIterator", "Optional");
  imports.use("..._page", "Page");
  imports.use(".._streams", "every_item");
  const page = name === "list" ? "page" : `${name}_page`;
  const passed = [...pathParameters, ...query.map((one) => `${one.name}=${one.name}`), "cursor=cursor"];
  const list = signature(`async def ${name}`, places, named, `AsyncIterator[${item}]`);
  const onePage = signature(`async def ${page}`, places, [...named, ...PAGING], `Page[${item}]`);
  const request = requestText(method, body, [...query, ...PAGING], imports);
  return `${list}${docstring(method)}${statement("pages = every_item(", [lambdaText(page, passed)])}${INDENT}async for item in pages:
            yield item

${onePage}        """Reads one page of \`\`${name}\`\`: \`\`limit\`\` items (default 50, at most 500) after the page whose \`\`next_cursor\`\` is \`\`cursor\`\`."""
${statement("found = await self._http.json(", [request, whole])}        return Page(found["items"], found["next_cursor"])
`;
}

function lambdaText(page: string, passed: readonly string[]): string {
  const line = `lambda cursor: self.${page}(${passed.join(", ")})`;
  const inner = `${INDENT}        `;
  return line.length < 95
    ? line
    : `lambda cursor: self.${page}(\n${passed.map((one) => `${inner}${one},\n`).join("")}${INDENT}    )`;
}

interface Body {
  readonly places: readonly string[];
  readonly fields: readonly Argument[];
  /** Value of the request's \`json\`; undefined where there is none. */
  readonly json: string | undefined;
  readonly sendsNone: boolean;
}

/** Fields of the body as keyword arguments, or the body as a whole where None says something in it or where a
 *  field has the name of a parameter of the path. */
function bodyOf({ body, method, pathParameters }: ClientMethod, imports: Imports): Body {
  if (body === undefined) return { places: [], fields: [], json: undefined, sendsNone: false };
  const schema = pythonName(body.schema.$id);
  const fields = parametersOf(body.schema);
  const isWhole = fields.some(
    ({ name, schema: part }) => [part.type ?? []].flat().includes("null") || pathParameters.includes(name),
  );
  if (isWhole) {
    imports.use("typing", "Mapping", "cast");
    const given = method === "PATCH" ? "changes" : "request";
    const json = `cast(Mapping[str, object], ${given})`;
    return { places: [`${given}: ${imports.type(schema)}`], fields: [], json, sendsNone: true };
  }
  return {
    places: [],
    fields: fields.map(({ name, isRequired }) => ({
      name,
      isRequired,
      type: imports.field(`${schema}.${name}`),
    })),
    json: dictionary(fields.map(({ name }) => name)),
    sendsNone: false,
  };
}

/** On one line, or on as many as its names take where it is long. */
function dictionary(names: readonly string[]): string {
  const entries = names.map((name) => `"${name}": ${name}`);
  const line = `{${entries.join(", ")}}`;
  const inner = `${INDENT}            `;
  return line.length < 80
    ? line
    : `{\n${entries.map((entry) => `${inner}${entry},\n`).join("")}${INDENT}        }`;
}

function requestText(method: ClientMethod, body: Body, query: readonly Argument[], imports: Imports): string {
  const isVariable = method.pathParameters.length > 0;
  if (isVariable) imports.use("..._paths", "segment");
  const path = method.path.replaceAll(/\{(\w+)\}/g, "{segment($1)}");
  const parts = [
    `"${method.method}"`,
    isVariable ? `f"${path}"` : `"${path}"`,
    ...(query.length === 0 ? [] : [`query=${dictionary(query.map(({ name }) => name))}`]),
    ...(body.json === undefined ? [] : [`json=${body.json}`]),
    ...(body.sendsNone ? ["sends_none=True"] : []),
    ...(method.creates ? ["creates=True", "key=idempotency_key"] : []),
  ];
  const line = `Request(${parts.join(", ")})`;
  return line.length < 90
    ? line
    : `Request(\n${parts.map((part) => `${INDENT}        ${part},\n`).join("")}${INDENT}    )`;
}

/** A call on one line, or on as many as its arguments take. */
function statement(begins: string, parts: readonly string[]): string {
  const line = `${INDENT}${begins}${parts.join(", ")})\n`;
  const isShort = line.length <= COLUMNS && !line.trimEnd().includes("\n");
  return isShort
    ? line
    : `${INDENT}${begins}\n${parts.map((part) => `${INDENT}    ${part},\n`).join("")}${INDENT})\n`;
}

function signature(
  begins: string,
  places: readonly string[],
  fields: readonly Argument[],
  result: string,
): string {
  const named = fields.map(({ name, type, isRequired }) => {
    return isRequired ? `${name}: ${type}` : `${name}: Optional[${type}] = None`;
  });
  const parts = ["self", ...places, ...(named.length === 0 ? [] : ["*", ...named])];
  const line = `    ${begins}(${parts.join(", ")}) -> ${result}:\n`;
  if (line.length <= COLUMNS) return line;
  const inner = `        ${parts.join(", ")}\n`;
  const lines = inner.length <= COLUMNS ? inner : parts.map((part) => `        ${part},\n`).join("");
  return `    ${begins}(\n${lines}    ) -> ${result}:\n`;
}

function docstring(method: ClientMethod): string {
  const lines = docOf(method)
    .replaceAll("`", "``")
    .split("\n")
    .flatMap((paragraph) => wrapped(paragraph, COLUMNS - 12));
  const [first = "", ...rest] = lines;
  if (rest.length === 0) return `${INDENT}"""${first}"""\n`;
  const isOneParagraph = !rest.includes("");
  const more = rest.map((line) => `${INDENT}${line}`.trimEnd()).join("\n");
  return `${INDENT}"""${first}\n${more}${isOneParagraph ? "" : `\n${INDENT}`}"""\n`;
}

const TYPING: ReadonlySet<string> = new Set(["Dict", "List", "Literal", "Mapping", "Optional", "Sequence"]);

/** Names that a file takes from other ones. */
class Imports {
  readonly #types: PythonTypes;
  readonly #names = new Map<string, Set<string>>();

  constructor(types: PythonTypes) {
    this.#types = types;
  }

  use(from: string, ...names: readonly string[]): void {
    this.#names.set(from, new Set([...(this.#names.get(from) ?? []), ...names]));
  }

  /** A type of the module of types, or of the language. */
  type(name: string): string {
    for (const [word] of name.matchAll(/\b[A-Z]\w+/g))
      this.use(TYPING.has(word) ? "typing" : "...types", word);
    return name;
  }

  /** Type of a field, as an argument takes it. */
  field(place: string): string {
    const found = this.#types.fields.get(place);
    if (found === undefined) throw new Error(`${place} has no type in Python`);
    return this.type(found.replace(/^List\[/, "Sequence[").replace(/^Dict\[/, "Mapping["));
  }

  itemType(schema: Schema): string {
    if (schema.$id === undefined) throw new Error("an item has no name in Python");
    return this.type(pythonName(schema.$id));
  }

  queryType({ type, enum: words }: Schema): string {
    if (words === undefined)
      return { integer: "int", boolean: "bool", number: "float" }[String(type)] ?? "str";
    const texts = words.map(String);
    const named = this.#types.findWords(texts);
    if (named !== undefined) return this.type(named);
    this.use("typing", "Literal");
    return `Literal[${texts.map((word) => JSON.stringify(word)).join(", ")}]`;
  }

  text(): string {
    return importsText([...this.#names]);
  }
}

/** The standard library first, then files from above to beside. */
export function importsText(imports: readonly (readonly [string, ReadonlySet<string>])[]): string {
  const sorted = imports.toSorted(([a], [b]) => dotsOf(b) - dotsOf(a) || (a < b ? -1 : 1));
  const own = sorted.filter(([file]) => dotsOf(file) > 0).map(importText);
  const library = sorted.filter(([file]) => dotsOf(file) === 0).map(importText);
  return [...library, ...(library.length === 0 ? [] : ["\n"]), ...own].join("");
}

function dotsOf(file: string): number {
  return file.length - file.replace(/^\.+/, "").length;
}

function importText([file, all]: readonly [string, ReadonlySet<string>]): string {
  const names = [...all].toSorted();
  const line = `from ${file} import ${names.join(", ")}\n`;
  if (line.length <= COLUMNS) return line;
  return `from ${file} import (\n${names.map((name) => `    ${name},\n`).join("")})\n`;
}
