// Schema pieces that several resources share.

import { Type, type Static, type TObject, type TProperties, type TSchema } from "typebox";
import { durationPattern } from "./durations.ts";
import { errorStatus, type ErrorCode } from "./errors.ts";
import { PAGE_DEFAULT, PAGE_MAX } from "./limits.ts";

const closed = { additionalProperties: false } as const;

/** ISO 8601 UTC with milliseconds, for example `2026-11-20T16:21:09.123Z`. */
export const Timestamp = Type.String({ format: "date-time" });

export const Duration = Type.String({
  pattern: durationPattern,
  maxLength: 40,
  description: "A duration such as `30s`, `10m`, `24h` or `1h30m`.",
  examples: ["10m"],
});

export const Env = Type.Record(Type.String(), Type.String(), {
  description: "Environment variables, name to value. A name is not empty and holds neither `=` nor NUL.",
});

export const Metadata = Type.Record(Type.String(), Type.String(), {
  description: "Your own labels, name to value; lists can be filtered by them.",
});

/** One of these words. An `enum`, because a union of literals would be compiled and tried branch by branch. */
export function OneOf<const Word extends string>(
  words: readonly Word[],
  options: Readonly<{ description?: string; default?: Word }> = {},
) {
  return Type.Unsafe<Word>({ type: "string", enum: [...words], ...options });
}

/** This type or null, for a schema of one type and without an `$id`. One list of types, for the same reason. */
export function Nullable<T extends TSchema & { readonly type: string }>(
  schema: T,
  options: Readonly<{ description?: string }> = {},
) {
  return Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, "null"], ...options });
}

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
  return Type.Object(fields, { $id: id, ...closed, examples: [example] }) as TObject<Fields> & Named;
}

export function exampleOf<T extends TSchema & Named>(schema: T): Static<T> {
  // `named` takes an example of this type only.
  return schema.examples[0] as Static<T>;
}

export const ErrorResponse = named(
  "Error",
  {
    code: OneOf(Object.keys(errorStatus) as ErrorCode[]),
    message: Type.String({ description: "What was wrong with this request, in one sentence." }),
    remediation: Type.Optional(Type.String({ description: "What to do about it." })),
    context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    request_id: Type.Optional(Type.String()),
  },
  {
    code: "unknown_field",
    message: 'There is no field "timout".',
    remediation: "Check the spelling; `GET /v1/openapi.json` lists the fields.",
    context: { field: "timout" },
    request_id: "req_01kb3x0q9v0a1b2c3d4e5f6g7h",
  },
);

/** The body of a call that needs none. It may be left out. */
export const NoFields = named("NoFields", {}, {});

export const PageQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: PAGE_DEFAULT })),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: "`next_cursor` of the page before." })),
  },
  closed,
);
export type PageQuery = Static<typeof PageQuery>;

/** A page of a list: newest first, `next_cursor` null on the last page. */
export function pageOf<Item extends TSchema & Named>(
  item: Item,
  id: string,
  exampleCursor: string | null = null,
) {
  const fields = { items: Type.Array(item), next_cursor: Nullable(Type.String()) };
  const example = { items: [exampleOf(item)], next_cursor: exampleCursor };
  return named(id, fields, example as Static<TObject<typeof fields>>);
}
