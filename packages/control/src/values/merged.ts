// A change to a map of texts, as a request gives it.

type Texts = Readonly<Record<string, string>>;

/** An entry that is named with a text is set, one that is named with null is gone, and every other stays. */
export function merged(before: Texts, changes: Readonly<Record<string, string | null>>): Texts {
  const after = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) after.delete(name);
    else after.set(name, value);
  }
  // From entries, because assigning to a key such as `__proto__` would lose it.
  return Object.fromEntries(after);
}
