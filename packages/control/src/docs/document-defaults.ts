// Defaults, as the OpenAPI document tells them: in words. Generators of clients take a field with a `default` for one that is always there, and so
// for one that every request has to have.

type Json = { readonly [key: string]: unknown };

/** The document without a `default`; each stands at the end of its field's or parameter's description. */
export function withDefaultsInWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDefaultsInWords);
  if (!isJson(value)) return value;
  if (isParameter(value)) {
    const { default: preset, ...schema } = value.schema;
    return described({ ...value, schema: withDefaultsInWords(schema) }, preset);
  }
  const { default: preset, ...rest } = value;
  const hasDefault = isField(value);
  const parts = Object.entries(hasDefault ? rest : value).map(([key, part]) => [
    key,
    withDefaultsInWords(part),
  ]);
  return described(Object.fromEntries(parts) as Json, hasDefault ? preset : undefined);
}

function isField({ type, default: preset }: Json): boolean {
  // A field that is called `default` would be an object.
  return type !== undefined && typeof preset !== "object";
}

function isParameter(value: Json): value is Json & { readonly schema: Json } {
  return typeof value["in"] === "string" && isJson(value["schema"]);
}

function described(parts: Json, preset: unknown): Json {
  if (preset === undefined) return parts;
  const words = `Default: \`${typeof preset === "string" ? preset : JSON.stringify(preset)}\`.`;
  const { description } = parts;
  return { ...parts, description: typeof description === "string" ? `${description} ${words}` : words };
}

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null;
}
