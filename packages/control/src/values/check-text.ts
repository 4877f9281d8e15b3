import { SkerryError, type ErrorCode } from "@skerry/contract/errors";

// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
export const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;

/** PostgreSQL stores every text but NUL and half characters. */
export function checkText(field: string, text: string, code: ErrorCode = "bad_request"): string {
  if (!text.includes("\0") && text.isWellFormed()) return text;
  throw new SkerryError(code, `"${field}" has NUL or is not valid Unicode.`, { context: { field } });
}
