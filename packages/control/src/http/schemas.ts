// Schemas with a name (`$id`) are registered once and referred to by it, so that the OpenAPI document names them too.

import type { FastifyInstance } from "fastify";
import type { TSchema } from "typebox";

export type NamedSchemas = ReadonlyMap<string, TSchema>;

/** All that these are and hold, by name. */
export function namedSchemasIn(roots: readonly unknown[]): NamedSchemas {
  const found = new Map<string, TSchema>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const id = nameOf(value);
    if (id !== undefined) {
      const known = found.get(id);
      // An optional one is a copy of it.
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(value)) {
        throw new Error(`two schemas have the name ${id}`);
      }
      if (known !== undefined) return;
      found.set(id, value);
    }
    Object.values(value).forEach(visit);
  };
  roots.forEach(visit);
  return found;
}

/** By name, so that a new one moves none of the others in the OpenAPI document. */
export function registerSchemas(app: FastifyInstance, named: NamedSchemas): void {
  for (const name of [...named.keys()].toSorted()) app.addSchema(withReferences(named.get(name), true));
}

/** A reference to a schema that has a name; any other is returned as it is. */
export function referTo(schema: unknown): unknown {
  const id = nameOf(schema);
  return id === undefined ? schema : { $ref: `${id}#` };
}

/** What `referTo` refers to; any other schema is returned as it is. */
export function original(schema: TSchema, named: NamedSchemas): TSchema {
  const target = (schema as { $ref?: unknown }).$ref;
  if (typeof target !== "string") return schema;
  const found = named.get(target.slice(0, -"#".length));
  if (found === undefined) throw new Error(`schema ${target} is not registered`);
  return found;
}

function nameOf(schema: unknown): string | undefined {
  const id = (schema as { $id?: unknown } | undefined)?.$id;
  return typeof id === "string" ? id : undefined;
}

/** A plain copy in which every named schema but the outermost is a reference. */
function withReferences(value: unknown, isOutermost: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, false));
  if (typeof value !== "object" || value === null) return value;
  if (!isOutermost && nameOf(value) !== undefined) return referTo(value);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withReferences(part, false)]));
}
