// The generated part of the TypeScript client: a class for each collection, and one for the client itself.

import {
  camelCase,
  collections,
  extended,
  ownMethods,
  pascalCase,
  singular,
  watchedOf,
  type Answer,
  type ClientMethod,
  type Watched,
} from "./client-methods.ts";
import { findById, readModules, type Module } from "./contract-modules.ts";
import { typeOf, type Schema, type SchemaNames } from "./schema-types.ts";

const HEAD =
  "// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.\n\n";

const COLUMNS = 100;

/** Texts of `packages/sdk/src/generated`, by file name. */
export async function sdkFiles(): Promise<ReadonlyMap<string, string>> {
  const modules = await readModules();
  const files = new Map<string, string>();
  const all: Imports[] = [];
  const imports = (): Imports => {
    const own = new Imports(modules);
    all.push(own);
    return own;
  };
  for (const [collection, methods] of collections)
    files.set(`${kebab(collection)}.ts`, collectionFile(collection, methods, imports()));
  files.set("generated-client.ts", clientFile(imports()));
  files.set("types.ts", typesFile(all));
  return files;
}

/** Types that users of the package need to name what the methods take and give. */
function typesFile(all: readonly Imports[]): string {
  const contract = all.flatMap((imports) => imports.typesOf("@skerry/contract/"));
  const queries = [
    ...[...collections].map(([collection, methods]) => ({ file: kebab(collection), methods })),
    { file: "generated-client", methods: ownMethods },
  ].flatMap(({ file, methods }) =>
    methods
      .filter(({ query }) => query.length > 0)
      .map((method): [string, string] => [`./${file}.ts`, queryName(method)]),
  );
  const names = Map.groupBy([...contract, ...queries], ([from]) => from);
  const lines = [...names]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([from, named]) => {
      const types = [...new Set(named.map(([, name]) => name))].toSorted();
      return `export type { ${types.join(", ")} } from "${from}";\n`;
    });
  return `${HEAD}${lines.join("")}`;
}

/** Name of the class of a collection. The classes that extend it have the plain name. */
function className(collection: string): string {
  return `${extended.has(collection) ? "Generated" : ""}${pascalCase(collection)}`;
}

function collectionFile(collection: string, methods: readonly ClientMethod[], imports: Imports): string {
  const watched = watchedOf(methods);
  const parts = methods.map((method) => methodText(method, imports, "this.http"));
  if (watched !== undefined) parts.push(waits(watched, imports));
  const filters = methods.flatMap((method) => queryText(method, imports) ?? []);
  imports.use("../http/http.ts", "HttpClient");
  const text = `${filters.join("\n")}${filters.length === 0 ? "" : "\n"}export class ${className(collection)} {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

${parts.join("\n")}}
`;
  return HEAD + imports.text() + text;
}

function clientFile(imports: Imports): string {
  imports.use("../http/http.ts", "HttpClient");
  const plain = [...collections.keys()].filter((collection) => !extended.has(collection));
  for (const collection of plain) imports.value(`./${kebab(collection)}.ts`, className(collection));
  const parts = ownMethods.map((method) => methodText(method, imports, "this.#http"));
  const filters = ownMethods.flatMap((method) => queryText(method, imports) ?? []);
  const text = `${filters.join("\n")}${filters.length === 0 ? "" : "\n"}/** Collections and calls that need nothing but their declarations. \`Skerry\` has the other ones. */
export class GeneratedClient {
${plain.map((name) => `  readonly ${name}: ${className(name)};\n`).join("")}  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
${plain.map((name) => `    this.${name} = new ${className(name)}(http);\n`).join("")}  }

${parts.join("\n")}}
`;
  return HEAD + imports.text() + text;
}

/** Interface of what a method is asked by, with the descriptions of its fields. */
function queryText(method: ClientMethod, imports: Imports): string | undefined {
  if (method.query.length === 0) return undefined;
  const fields = method.query.map(
    (parameter) =>
      `${doc(parameter.schema.description ?? "", "  ")}  readonly ${parameter.name}${parameter.isRequired ? "" : "?"}: ${typeOf(parameter.schema, { ...imports.names, duration: () => "string" })}${parameter.isRequired ? "" : " | undefined"};\n`,
  );
  return `export interface ${queryName(method)} {\n${fields.join("")}}\n`;
}

function queryName({ answer, collection, name, operationId }: ClientMethod): string {
  if (answer.kind !== "page") return `${pascalCase(collection === undefined ? name : operationId)}Query`;
  return `${pascalCase(singular(name === "list" ? (collection ?? "") : name))}Filter`;
}

/** Parts of a method's text. */
interface Parts {
  readonly comment: string;
  /** Parameters before what it is asked by, and their names. */
  readonly leading: readonly string[];
  readonly given: readonly string[];
  /** Type of what it is asked by. */
  readonly query: string | undefined;
  readonly options: string;
}

function methodText(method: ClientMethod, imports: Imports, http: string): string {
  const { body, creates } = method;
  const options = creates ? "CreateOptions" : "CallOptions";
  imports.use("../http/http.ts", options);
  const leading = method.pathParameters.map((parameter) => `${camelCase(parameter)}: string`);
  const given = method.pathParameters.map(camelCase);
  if (body !== undefined) {
    leading.push(`${bodyName(method)}: ${imports.type(body.schema)}${body.isOptional ? " = {}" : ""}`);
    given.push(bodyName(method));
  }
  const parts = {
    ...{ leading, given, comment: doc(docOf(method), "  "), options: `options: ${options} = {}` },
    query: method.query.length === 0 ? undefined : queryName(method),
  };
  const write = method.answer.kind === "page" ? pageMethods : plainMethod;
  return write(method, parts, imports, http);
}

function bodyName({ method }: ClientMethod): string {
  return method === "PATCH" ? "changes" : "request";
}

/** The list, which is read page by page, and one page of it. */
function pageMethods(method: ClientMethod, parts: Parts, imports: Imports, http: string): string {
  const { name, answer } = method;
  const { comment, given, leading, options, query } = parts;
  if (answer.kind !== "page") throw new Error(`${name} has no pages`);
  const item = imports.type(answer.item);
  imports.value("../http/pages.ts", "everyItem");
  imports.use("../http/pages.ts", "Page");
  imports.use("../http/pages.ts", "PageOptions");
  const page = name === "list" ? "page" : `${name}Page`;
  const filter = query === undefined ? [] : [`filter: ${query} = {}`];
  const asked = query === undefined ? "{ cursor }" : "{ ...filter, cursor }";
  const pageQuery = `query: ${query === undefined ? "" : `${query} & `}PageOptions = {}`;
  return `${comment}  ${name}(${[...leading, ...filter, options].join(", ")}): AsyncGenerator<${item}, void> {
    return everyItem((cursor) => this.${page}(${[...given, asked, "options"].join(", ")}));
  }

  /** Reads one page of \`${name}\`. */
  ${page}(${[...leading, pageQuery, options].join(", ")}): Promise<Page<${item}>> {
    return ${http}.json<Page<${item}>>(${requestOf(method, imports, true)}, options);
  }
`;
}

function plainMethod(method: ClientMethod, parts: Parts, imports: Imports, http: string): string {
  const { answer, name } = method;
  if (answer.kind === "page") throw new Error(`${name} has pages`);
  const { comment, leading, options, query } = parts;
  const isNeeded = method.query.some(({ isRequired }) => isRequired);
  const asked = query === undefined ? [] : [`query: ${query}${isNeeded ? "" : " = {}"}`];
  const head = `${name}(${[...leading, ...asked, options].join(", ")})`;
  const request = requestOf(method, imports, query !== undefined);
  if (answer.kind === "nothing")
    return `${comment}  async ${head}: Promise<void> {\n    await ${http}.done(${request}, options);\n  }\n`;
  const whole = imports.type(answer.schema);
  const call = `${http}.json<${whole}>(${request}, options)`;
  if (answer.kind === "one") return `${comment}  ${head}: Promise<${whole}> {\n    return ${call};\n  }\n`;
  return `${comment}  async ${head}: Promise<${imports.items(answer)}> {\n    return (await ${call}).items;\n  }\n`;
}

function requestOf(method: ClientMethod, imports: Imports, hasQuery: boolean): string {
  const { body, creates } = method;
  const isVariable = method.pathParameters.length > 0;
  if (isVariable) imports.value("../http/paths.ts", "segment");
  const path = method.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `\${segment(${camelCase(name)})}`);
  if (creates) imports.value("../http/http.ts", "keyHeader");
  const fields = [
    `method: "${method.method}"`,
    isVariable ? `path: \`${path}\`` : `path: "${path}"`,
    ...(hasQuery ? ["query: { ...query }"] : []),
    ...(body === undefined ? [] : [`json: ${bodyName(method)}`]),
    ...(creates ? ["headers: keyHeader(options)", "creates: true"] : []),
  ];
  return `{ ${fields.join(", ")} }`;
}

/** Methods of resources whose changes the server tells. */
function waits({ kind, item, parameter }: Watched, imports: Imports): string {
  const type = imports.type(item);
  const given = camelCase(parameter);
  const noun = kind.replaceAll("_", " ");
  imports.value("../events/follow-resource.ts", "followResource");
  imports.value("../events/wait-for-status.ts", "waitForStatus");
  imports.use("../events/wait-for-status.ts", "Status");
  imports.use("../events/wait-for-status.ts", "WaitOptions");
  const source = `{ id: ${given}, read: (id, own) => this.get(id, own) }`;
  return `  /** Gives the ${noun} as it is now, and again with each change of it, until \`signal\` aborts. */
  follow(${given}: string, options: CallOptions = {}): AsyncGenerator<${type}, void> {
    return followResource(this.http, "${kind}", ${source}, options);
  }

  /**
   * Resolves when its \`status\` is \`until\`, or one of them. Throws \`SkerryStatusError\` where it has
   * ended in another one.
   */
  wait(${given}: string, until: Status<${type}>, options: WaitOptions = {}): Promise<${type}> {
    return waitForStatus("${kind}", ${source}, until, options);
  }
`;
}

const CODES_MAX = 8;

/** Deed of the method, the scope that it needs, and the errors that other methods do not have. */
export function docOf({ doc: text, errors, scope }: ClientMethod): string {
  const codes = errors.slice(0, CODES_MAX).map((code) => `\`${code}\``);
  const more = errors.length > CODES_MAX ? " and others" : "";
  return [
    text,
    ...(scope === undefined ? [] : [`Needs the scope \`${scope}\`.`]),
    ...(codes.length === 0 ? [] : [`Errors of its own: ${codes.join(", ")}${more}.`]),
  ].join("\n\n");
}

/** A comment of one line, or of as many as the text takes. */
function doc(text: string, indent: string): string {
  if (text === "") return "";
  const safe = text.replaceAll("*/", "*\\/");
  if (!safe.includes("\n") && safe.length <= COLUMNS - indent.length - 6) return `${indent}/** ${safe} */\n`;
  const lines = safe.split("\n").flatMap((paragraph) => wrapped(paragraph, COLUMNS - indent.length - 3));
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

export function wrapped(text: string, columns: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last === "") lines[lines.length - 1] = word;
    else if (last.length + word.length < columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function kebab(collection: string): string {
  return collection.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Names that a file takes from other ones, by these. */
class Imports {
  readonly #modules: readonly Module[];
  readonly #types = new Map<string, Set<string>>();
  readonly #values = new Map<string, Set<string>>();

  readonly names: SchemaNames = {
    find: (id) => this.#named(id),
    duration: () => this.use("@skerry/contract/durations", "Duration"),
    size: () => this.use("@skerry/contract/sizes", "SizeName"),
  };

  constructor(modules: readonly Module[]) {
    this.#modules = modules;
  }

  /** Type of all items of an answer, which is that of the answer's field where they have no name. */
  items({ item, schema }: Extract<Answer, { readonly item: Schema }>): string {
    return item.$id === undefined ? `${this.type(schema)}["items"]` : `${this.type(item)}[]`;
  }

  type(schema: object): string {
    // Declared schemas are those of JSON Schema; the library's type says less of them.
    return typeOf(schema as Schema, this.names);
  }

  use(from: string, name: string): string {
    this.#types.set(from, (this.#types.get(from) ?? new Set()).add(name));
    return name;
  }

  value(from: string, name: string): void {
    this.#values.set(from, (this.#values.get(from) ?? new Set()).add(name));
  }

  /** Files that begin like this, each with a type of it. */
  typesOf(prefix: string): readonly [string, string][] {
    return [...this.#types]
      .filter(([from]) => from.startsWith(prefix))
      .flatMap(([from, names]) => [...names].map((name): [string, string] => [from, name]));
  }

  text(): string {
    // Packages come before the files of this one.
    const rank = (file: string) => `${file.startsWith(".") ? 1 : 0}${file}`;
    const files = [...new Set([...this.#types.keys(), ...this.#values.keys()])];
    return files
      .toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))
      .map((file) => {
        const values = [...(this.#values.get(file) ?? [])].toSorted();
        const types = [...(this.#types.get(file) ?? [])].toSorted();
        return values.length === 0
          ? `import type { ${types.join(", ")} } from "${file}";\n`
          : `import { ${[...values, ...types.map((type) => `type ${type}`)].join(", ")} } from "${file}";\n`;
      })
      .join("")
      .concat("\n");
  }

  #named(id: string): string | undefined {
    const found = findById(this.#modules, id);
    return found === undefined ? undefined : this.use(`@skerry/contract/${found.path}`, found.name);
  }
}
