import { SkerryError, type ErrorCode } from "@skerry/contract/errors";

// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
export const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;

/** PostgreSQL stores every text but NUL and half characters. */
export function checkText(field: string, text: string, code: ErrorCode = "bad_request"): string {
  if (!text.includes("\0") && text.isWellFormed()) return text;
  throw new SkerryError(code, `"${field}" has NUL or is not valid Unicode.`, { context: { field } });
}

/** What breaks a line, drives a terminal, or turns the direction of the text around it. */
const UNFIT_FOR_NAMES = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** A name is shown in lists and logs, and typed: it is one line of what can be seen. */
export function checkName(field: string, text: string): string {
  checkText(field, text);
  if (!UNFIT_FOR_NAMES.test(text)) return text;
  throw new SkerryError("bad_request", `"${field}" has a line break or another control character.`, {
    remediation: "Use characters that can be seen, and spaces.",
    context: { field },
  });
}
