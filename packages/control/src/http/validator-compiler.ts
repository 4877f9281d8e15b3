// Requests against the schemas of the contract, and what to tell those who miss them. Bodies are never coerced; a query,
// which is all text, is read as the types that its schema names.

import type { FastifySchemaCompiler } from "fastify";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Value } from "typebox/value";
import { durationPattern } from "@skerry/contract/durations";
import { SkerryError } from "@skerry/contract/errors";
import { OTHERWISE } from "@skerry/contract/fields";
import { invalidDuration } from "../values/durations.ts";
import { original, type NamedSchemas } from "./schemas.ts";
import { unknownField } from "./unknown-field.ts";

type Fault = ReturnType<ReturnType<typeof Compile>["Errors"]>[number];

export function validatorCompiler(named: NamedSchemas): FastifySchemaCompiler<TSchema> {
  return ({ schema: given, httpPart }) => {
    const schema = original(given, named);
    const shape = Compile(schema);
    return (value: unknown) => {
      const input: unknown = httpPart === "querystring" ? Value.Convert(schema, value) : value;
      if (shape.Check(input)) return { value: input };
      return { error: faultError(shape.Errors(input), { schema, input }) };
    };
  };
}

interface Checked {
  readonly schema: TSchema;
  readonly input: unknown;
}

function faultError(faults: readonly Fault[], checked: Checked): SkerryError {
  for (const fault of faults) {
    if (fault.keyword !== "additionalProperties") continue;
    const name = String(fault.params.additionalProperties[0]).slice(0, SHOWN_CHARS);
    const { instancePath } = fault;
    const parent = instancePath === "" ? checked.schema : partAt(checked.schema, instancePath);
    return unknownField(name, fieldName(instancePath), parent);
  }
  const fault = faults[0];
  if (fault === undefined) return new SkerryError("bad_request", "The request does not match its schema.");
  const field = fieldName(fault.instancePath);
  if (partAt(checked.schema, fault.instancePath)?.["pattern"] === durationPattern) {
    return invalidDuration(field, valueAt(checked.input, fault.instancePath));
  }
  if (field === "env" || field.startsWith("env.")) {
    return new SkerryError("invalid_env", `"env" must be an object of strings.`, {
      remediation: 'For example {"env": {"DEBUG": "1"}}.',
      context: { field },
    });
  }
  if (fault.keyword === "required") return missingField(fault, checked.schema);
  if (field === "") {
    return new SkerryError("bad_request", "The body must be a JSON object.", {
      remediation: "Send `Content-Type: application/json` and an object such as {}.",
    });
  }
  return new SkerryError("bad_request", `"${field}" ${sentenceOf(fault)}.`, {
    ...otherWay(fault, checked.schema),
    context: { field },
  });
}

/** Of a value that is too long or has another form, where its schema names one. */
function otherWay({ keyword, instancePath }: Fault, schema: TSchema): { readonly remediation?: string } {
  const otherwise =
    keyword === "maxLength" || keyword === "pattern" ? partAt(schema, instancePath)?.[OTHERWISE] : undefined;
  return typeof otherwise === "string" ? { remediation: otherwise } : {};
}

function missingField(fault: Fault & { keyword: "required" }, schema: TSchema): SkerryError {
  const parent = fieldName(fault.instancePath);
  const name = fault.params.requiredProperties[0] ?? "";
  const field = parent === "" ? name : `${parent}.${name}`;
  const description = partAt(schema, `${fault.instancePath}/${name}`)?.["description"];
  return new SkerryError("bad_request", `The field "${field}" is missing.`, {
    remediation:
      typeof description === "string"
        ? `Give it: ${description}`
        : "`GET /v1/openapi.json` has the fields of each request.",
    context: { field },
  });
}

const SHOWN_CHARS = 60;

function sentenceOf(fault: Fault): string {
  const { keyword, params } = fault;
  if (keyword === "enum") {
    return `must be one of ${params.allowedValues.map((value) => JSON.stringify(value)).join(", ")}`;
  }
  if (keyword === "minLength" && params.limit === 1) return "must not be empty";
  // A regular expression is no sentence.
  if (keyword === "pattern") return "does not have the form that it needs";
  if (keyword === "maxLength") return `must not be longer than ${params.limit} characters`;
  return keyword === "type" ? `must be ${article(params.type)}` : fault.message;
}

function article(types: string | readonly string[]): string {
  return [types]
    .flat()
    .map((name) => (name === "null" ? name : /^[aeio]/.test(name) ? `an ${name}` : `a ${name}`))
    .join(" or ");
}

/** `/env/PATH` as people write it: `env.PATH`. */
function fieldName(pointer: string): string {
  return segments(pointer).join(".").slice(0, SHOWN_CHARS);
}

function segments(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function partAt(schema: TSchema, pointer: string): Readonly<Record<string, unknown>> | undefined {
  return segments(`/properties${pointer.replaceAll("/", "/properties/").slice("/properties".length)}`).reduce<
    Readonly<Record<string, unknown>> | undefined
  >((part, key) => childOf(part, key), schema as Readonly<Record<string, unknown>>);
}

function valueAt(input: unknown, pointer: string): unknown {
  return segments(pointer).reduce<unknown>((part, key) => childOf(part, key), input);
}

function childOf(part: unknown, key: string): Readonly<Record<string, unknown>> | undefined {
  if (typeof part !== "object" || part === null || !Object.hasOwn(part, key)) return undefined;
  return (part as Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>)[key];
}
