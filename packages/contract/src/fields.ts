// Types of fields that several resources share.

import { Type, type Static, type TSchema } from "typebox";
import { durationPattern } from "./durations.ts";

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

const ValueOrNull = Type.Unsafe<string | null>({ type: ["string", "null"] });

/** The same in an answer. */
export const ShownEnv = Type.Record(Type.String(), ValueOrNull, {
  description:
    "Environment variables, name to value. Null: the caller may not execute there and so does not see it, or it was erased because the destruction has begun.",
});

export const Metadata = Type.Record(Type.String(), Type.String(), {
  description:
    "Your own labels, name to value; lists can be filtered by them. At most 64, with 16 KiB together.",
});

export const EnvChange = Type.Record(Type.String(), ValueOrNull, {
  description: "Environment variables to set, name to value. Null removes one; those that are left out stay.",
});

export const MetadataChange = Type.Record(Type.String(), ValueOrNull, {
  description: "Labels to set, name to value. Null removes one; those that are left out stay.",
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

/** Of a field whose value may be too long or of another form: what a caller does then, in a sentence. */
export const OTHERWISE = "x-otherwise";
