// Schemas that the OpenAPI document names.

import { Type, type Static, type TObject, type TProperties, type TSchema } from "typebox";

/** A schema that the OpenAPI document names, and shows with an example. */
export interface Named {
  readonly $id: string;
  readonly examples: readonly [unknown];
}

/** An object without other fields, by its name in the OpenAPI document. */
export function named<Fields extends TProperties>(
  id: string,
  fields: Fields,
  example: Static<TObject<Fields>>,
): TObject<Fields> & Named {
  // The library's type of a schema says nothing of its options.
  return Type.Object(fields, {
    $id: id,
    additionalProperties: false,
    examples: [example],
  }) as TObject<Fields> & Named;
}

export function exampleOf<T extends TSchema & Named>(schema: T): Static<T> {
  // `named` takes an example of this type only.
  return schema.examples[0] as Static<T>;
}

/** The body of a call that needs none. It may be left out. */
export const NoFields = named("NoFields", {}, {});
