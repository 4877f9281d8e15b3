// Validates requests against the schemas of the contract. Bodies are never coerced (a null is not an empty
// string); a query, which is all text, is read as the types that its schema names.

import { SkerryError } from "@skerry/contract/errors";
import type { FastifySchemaCompiler } from "fastify";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Value } from "typebox/value";

export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const shape = Compile(schema);
  return (value: unknown) => {
    const input: unknown = httpPart === "body" ? value : Value.Convert(schema, value);
    if (shape.Check(input)) return { value: input };
    const [fault] = shape.Errors(input);
    return {
      error: new SkerryError(
        "bad_request",
        `${httpPart ?? "request"}${fault?.instancePath ?? ""}: ${fault?.message ?? "invalid"}`,
      ),
    };
  };
};
