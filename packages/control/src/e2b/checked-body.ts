// Bodies and queries of E2B's clients against our schemas of them. Made when the first request comes, not when the server starts.

import type { TSchema, Static } from "typebox";
import { validatorCompiler } from "../http/validator-compiler.ts";

const compile = validatorCompiler(new Map());

/** Returns what a request has brought, or throws what is wrong with it. A field that is not in the schema is refused by name. */
export function checker<Schema extends TSchema>(
  schema: Schema,
  httpPart: "body" | "querystring",
): (value: unknown) => Static<Schema> {
  const check = compile({ schema, httpPart, method: "", url: "" });
  return (value) => {
    const found = check(value ?? {}) as { readonly value?: Static<Schema>; readonly error?: Error };
    if (found.error !== undefined) throw found.error;
    // The compiled schema has held the value against it.
    return found.value as Static<Schema>;
  };
}
