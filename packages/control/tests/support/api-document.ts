// Holds an answer against the OpenAPI document: its status, its type, its code, its shape, and the headers that tell of limits.

import { Compile } from "typebox/schema";
import { isDocumented } from "../../src/api/operation.ts";
import { operations } from "../../src/app/operations.ts";

/** Id and declaration of each operation that the document has. */
export const documentedOperations = Object.entries(operations).filter(
  ([, { surface }]) => isDocumented[surface],
);

type Json = Readonly<Record<string, unknown>>;

export interface Heard {
  readonly method: string;
  /** As it was sent. */
  readonly path: string;
  readonly status: number;
  readonly type: string;
  /** By their names in small letters. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

interface Answer {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, { readonly $ref?: string }>>;
  readonly content?: Content;
  /** What it is instead, where the request asks for events. */
  readonly "x-event-stream"?: Content;
  /** By status, what else it answers where the request asks for that. */
  readonly "x-when-asked"?: Readonly<Record<string, Answer>>;
}

type Content = Readonly<Record<string, { readonly schema?: Json }>>;

interface DescribedHeader {
  readonly required?: boolean;
  readonly schema: { readonly pattern?: string };
}

interface Described {
  readonly responses: Readonly<Record<string, Answer>>;
}

const LIMIT_HEADERS = ["RateLimit", "RateLimit-Policy", "Retry-After"];
const POSITIVE_INTEGER = /^[1-9]\d*$/;

export class ApiDocument {
  readonly #paths: readonly (readonly [RegExp, Readonly<Record<string, Described>>])[];
  readonly #components: Json;
  readonly #shapes = new Map<Json, ReturnType<typeof Compile>>();

  constructor(document: { readonly paths?: unknown; readonly components?: unknown }) {
    this.#components = document.components as Json;
    const paths = document.paths as Readonly<Record<string, Readonly<Record<string, Described>>>>;
    this.#paths = Object.entries(paths).map(([path, operations]) => [patternOf(path), operations] as const);
  }

  /** What is wrong with an answer; undefined where it is as documented, or where no path of the document was called. */
  faultOf({ method, path, status, type, headers, text }: Heard): string | undefined {
    const pathname = path.split(/[?#]/, 1)[0] ?? "";
    const operations = this.#paths.find(([pattern]) => pattern.test(pathname))?.[1];
    const operation = operations?.[method.toLowerCase()];
    if (operation === undefined) return undefined;
    const whenAsked = operation.responses["200"]?.["x-when-asked"]?.[String(status)];
    const answer = this.#answerOf(operation.responses[String(status)] ?? whenAsked);
    if (answer === undefined) return `${status} is not documented: ${text.slice(0, 300)}`;
    return this.#headersFault(answer, headers) ?? this.#contentFault(answer, { type, text });
  }

  /** Throws where there is a fault. */
  check(heard: Heard): void {
    const fault = this.faultOf(heard);
    if (fault === undefined) return;
    throw new Error(`${heard.method} ${heard.path} answers what it does not document: ${fault}`);
  }

  #contentFault(answer: Answer, { type, text }: Pick<Heard, "type" | "text">): string | undefined {
    const { content, "x-event-stream": events } = answer;
    if (content === undefined) return text === "" ? undefined : "the answer should be empty";
    const found = { ...content, ...events }[type.split(";", 1)[0] ?? ""];
    if (found === undefined) return `the type ${type} is not documented`;
    const isJson = found.schema !== undefined && type.startsWith("application/json");
    return isJson ? this.#mismatch(found.schema, text) : undefined;
  }

  #mismatch(schema: Json, text: string): string | undefined {
    const shape = this.#shapeOf(schema);
    const value: unknown = JSON.parse(text);
    if (shape.Check(value)) return undefined;
    return `${JSON.stringify(shape.Errors(value)[1])}: ${text.slice(0, 300)}`;
  }

  #headersFault(answer: Answer, headers: Heard["headers"]): string | undefined {
    const components = this.#components["headers"] as Record<string, DescribedHeader>;
    for (const name of LIMIT_HEADERS) {
      const reference = answer.headers?.[name]?.$ref?.split("/").at(-1) ?? "";
      const fault = headerFault(components[reference], headers[name.toLowerCase()]);
      if (fault !== undefined) return `the header ${name} ${fault}`;
    }
    return undefined;
  }

  #answerOf(answer: Answer | undefined): Answer | undefined {
    const name = answer?.$ref?.split("/").at(-1);
    return name === undefined ? answer : (this.#components["responses"] as Record<string, Answer>)[name];
  }

  #shapeOf(schema: Json): ReturnType<typeof Compile> {
    const shape = this.#shapes.get(schema) ?? Compile({ ...schema, components: this.#components });
    this.#shapes.set(schema, shape);
    return shape;
  }
}

function headerFault(described: DescribedHeader | undefined, value: unknown): string | undefined {
  if (value === undefined) return described?.required === true ? "is missing" : undefined;
  if (described === undefined) return "is not documented";
  const isSane =
    typeof value === "string" && new RegExp(described.schema.pattern ?? POSITIVE_INTEGER).test(value);
  return isSane ? undefined : `is ${JSON.stringify(value)}`;
}

/** `{path}` is the rest of a path, every other parameter is one segment of it. */
function patternOf(path: string): RegExp {
  const pattern = path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === "path" ? ".*" : "[^/]+"));
  return new RegExp(`^${pattern}$`);
}
