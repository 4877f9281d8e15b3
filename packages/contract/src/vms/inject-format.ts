// Format of an injected header. No schema library in here, so that the name proxy stays small.

/** Stands for the secret's value in the format of a rule. */
export const FORMAT_PLACE = "{}";
