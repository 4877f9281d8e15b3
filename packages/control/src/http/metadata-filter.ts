const METADATA = "metadata.";

/** A query as a filter: labels come as `metadata.KEY` beside the other fields. */
export function withMetadataFilter<Query extends object>(
  query: Query,
): Query & { readonly metadata: Readonly<Record<string, string>> } {
  const entries = Object.entries(query);
  const labels = entries
    .filter(([key]) => key.startsWith(METADATA))
    .map(([key, value]) => [key.slice(METADATA.length), String(value)] as const);
  const rest = entries.filter(([key]) => !key.startsWith(METADATA));
  // From entries the fields have lost their names.
  return { ...(Object.fromEntries(rest) as Query), metadata: Object.fromEntries(labels) };
}
