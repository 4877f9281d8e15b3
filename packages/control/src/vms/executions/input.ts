// What a command reads from its standard input, from the request to bytes.

import { SkerryError } from "@skerry/contract/errors";
import { STDIN_MAX_BYTES } from "@skerry/contract/bounds";
import type { ExecuteRequest } from "@skerry/contract/vms/execute";

/** Undefined where there is nothing to read. */
export function readInput(
  stdin: string | undefined,
  encoding: ExecuteRequest["stdin_encoding"],
): Buffer | undefined {
  if (stdin === undefined || stdin === "") return undefined;
  const input = encoding === "base64" ? fromBase64(stdin) : fromText(stdin);
  if (input.length > STDIN_MAX_BYTES) {
    throw new SkerryError(
      "payload_too_large",
      `"stdin" is ${input.length} bytes long; at most ${STDIN_MAX_BYTES} are allowed.`,
      {
        remediation: "Upload it as a file, and redirect it: `command < file`.",
        context: { field: "stdin", max_bytes: STDIN_MAX_BYTES },
      },
    );
  }
  return input;
}

/** Node skips what is not base64. Then fewer bytes come out than belong to so many characters. */
function fromBase64(text: string): Buffer {
  const digits = text.length - (/={0,2}$/.exec(text.slice(-2))?.[0].length ?? 0);
  const input = Buffer.from(text, "base64");
  if (digits % 4 !== 1 && input.length === Math.floor((digits * 3) / 4)) return input;
  throw invalidInput('"stdin" is not base64.', "Encode it without line breaks, as `base64 -w0` does.");
}

function fromText(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text);
  throw invalidInput('"stdin" is not valid Unicode.', 'Send bytes with "stdin_encoding": "base64".');
}

function invalidInput(message: string, remediation: string): SkerryError {
  return new SkerryError("bad_request", message, { remediation, context: { field: "stdin" } });
}
