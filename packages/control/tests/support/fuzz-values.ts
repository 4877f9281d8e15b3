// Values for a JSON schema of the OpenAPI document: such that it accepts them, and such that something in them is broken.

import * as fc from "fast-check";

export type Json = Readonly<Record<string, unknown>>;

/** What has surprised parsers, shells, databases and file systems before. */
const odd = [
  "",
  " ",
  "..",
  "%2e%2e%2f",
  "__proto__",
  "constructor",
  "\0",
  "a\nb",
  "\u202e",
  "\ufeff",
  "\ud800",
  "'; drop table sandboxes; --",
  "${jndi:ldap://x}",
  "-1",
  "1e999",
  "NaN",
  "null",
  "9".repeat(400),
  "a".repeat(5_000),
  "é".repeat(300),
] as const;

export const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom(...odd));

const anything = fc.oneof(
  text,
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom(1e308, -1, 2 ** 53, [], {}, null),
);

export class Values {
  readonly #schemas: Readonly<Record<string, Json>>;

  constructor(schemas: Readonly<Record<string, Json>>) {
    this.#schemas = schemas;
  }

  /** As the schema wants it, as far as a schema can say. */
  valid(schema: Json): fc.Arbitrary<unknown> {
    const { $ref: ref, enum: values, type } = schema;
    if (typeof ref === "string") return this.valid(this.#schemas[ref.split("/").at(-1) ?? ""] ?? {});
    if (Array.isArray(values)) return fc.constantFrom(...(values as unknown[]));
    if (Array.isArray(type)) return fc.oneof(...type.map((one) => this.#plain(String(one), schema)));
    return this.#plain(String(type), schema);
  }

  #plain(type: string, schema: Json): fc.Arbitrary<unknown> {
    switch (type) {
      case "object":
        return this.#object(schema);
      case "array":
        return fc.array(this.valid((schema["items"] ?? {}) as Json), { maxLength: 5 });
      case "integer":
        return fc.integer({
          min: (schema["minimum"] as number | undefined) ?? -(2 ** 31),
          max: (schema["maximum"] as number | undefined) ?? 2 ** 31 - 1,
        });
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      default:
        return stringOf(schema);
    }
  }

  /** The same with one field of another kind, missing, or too many. */
  broken(schema: Json): fc.Arbitrary<unknown> {
    return fc.oneof(
      anything,
      fc
        .tuple(this.valid(schema), text, anything, fc.boolean(), fc.nat())
        .map(([value, name, other, drop, at]) => {
          if (typeof value !== "object" || value === null || Array.isArray(value)) return other;
          const keys = Object.keys(value);
          const key = at % 3 === 0 || keys.length === 0 ? name : (keys[at % keys.length] ?? name);
          const { [key]: _, ...rest } = value as Record<string, unknown>;
          return drop ? rest : Object.fromEntries([...Object.entries(rest), [key, other]]);
        }),
    );
  }

  #object(schema: Json): fc.Arbitrary<unknown> {
    const properties = Object.entries((schema["properties"] ?? {}) as Record<string, Json>);
    const known = fc.record(Object.fromEntries(properties.map(([name, part]) => [name, this.valid(part)])), {
      requiredKeys: ((schema["required"] ?? []) as string[]).filter((name) =>
        properties.some(([key]) => key === name),
      ),
    });
    const free = Object.values((schema["patternProperties"] ?? {}) as Record<string, Json>)[0];
    if (free === undefined) return known;
    const more = fc.dictionary(fc.string({ minLength: 1 }), this.valid(free), { maxKeys: 5 });
    return fc.tuple(known, more).map(([fields, others]) => ({ ...others, ...fields }));
  }
}

const durations = ["10m", "30s", "1h30m", "24h", "25h", "0s", "100000000h", "1ms"] as const;

function stringOf(schema: Json): fc.Arbitrary<string> {
  const pattern = schema["pattern"];
  // The one that fast-check cannot read is that of durations.
  if (typeof pattern === "string" && pattern.includes("(?")) return fc.constantFrom(...durations);
  if (typeof pattern === "string") return fc.stringMatching(new RegExp(pattern));
  const example = (schema["examples"] as unknown[] | undefined)?.[0];
  const examples = typeof example === "string" ? [fc.constant(example)] : [];
  const maxLength = Math.min((schema["maxLength"] as number | undefined) ?? 200, 200);
  const plain = fc.string({ minLength: (schema["minLength"] as number | undefined) ?? 0, maxLength });
  return fc.oneof(plain, ...examples, fc.constantFrom("base", "shared-cpu-1x", "/tmp", "echo"));
}
