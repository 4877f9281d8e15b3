// Format of an injected header. No schema library in here, so that the name proxy stays small.

/**
 * Bytes of a value that requests can get. A shorter one could not be told from other text of an answer; a
 * head with longer ones is none that servers take.
 */
export const INJECTED_BYTES = { min: 8, max: 4 * 1024 } as const;

/** Stands for the secret's value in the format of a rule. */
export const FORMAT_PLACE = "{}";
