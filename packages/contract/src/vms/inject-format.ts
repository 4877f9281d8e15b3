// Format of an injected header. No schema library in here, so that the name proxy stays small.

/** Bytes of a value that requests can get. A head with all rules of a policy still is one that servers take. */
export const INJECTED_MAX_BYTES = 4 * 1024;

/** Stands for the secret's value in the format of a rule. */
export const FORMAT_PLACE = "{}";
