// Bounds of secrets. No schema library in here, so that the command line starts fast.

export const SECRET_NAME_MAX_CHARS = 128;
/** A variable of the name `__proto__` is lost in many languages' maps. */
export const SECRET_NAME_PATTERN = "^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$";
export const SECRET_VALUE_MAX_BYTES = 64 * 1024;
/** Names of one organization. */
export const SECRETS_MAX = 256;
/** Secrets of one microVM. */
export const VM_SECRETS_MAX = 64;
/** Versions of one secret that are kept, the newest ones. */
export const SECRET_VERSIONS_MAX = 10;
