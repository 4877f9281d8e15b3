import { SkerryError } from "@skerry/contract/errors";
import { CONTROL_CHARACTER, checkText } from "./check-text.ts";

const METADATA_MAX_ENTRIES = 64;
const METADATA_NAME_MAX_CHARS = 128;
const METADATA_VALUE_MAX_CHARS = 1_024;
/** Of all names and values together: thousands of VMs keep them after their end. */
const METADATA_MAX_BYTES = 16 * 1024;

/** The labels as they are, or `bad_request`. */
export function checkMetadata(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(metadata);
  if (entries.length > METADATA_MAX_ENTRIES) {
    throw new SkerryError("bad_request", `"metadata" has more than ${METADATA_MAX_ENTRIES} labels.`);
  }
  for (const [name, value] of entries) {
    if (
      name === "" ||
      name.length > METADATA_NAME_MAX_CHARS ||
      CONTROL_CHARACTER.test(name) ||
      !name.isWellFormed()
    ) {
      throw new SkerryError(
        "bad_request",
        `A name in "metadata" is empty, longer than ${METADATA_NAME_MAX_CHARS} characters, or has control characters.`,
        { context: { field: "metadata" } },
      );
    }
    if (typeof value !== "string" || value.length > METADATA_VALUE_MAX_CHARS) {
      throw new SkerryError(
        "bad_request",
        `"metadata" takes strings of at most ${METADATA_VALUE_MAX_CHARS} characters.`,
        { context: { field: `metadata.${name}` } },
      );
    }
    checkText(`metadata.${name}`, value);
  }
  if (Buffer.byteLength(entries.flat().join("")) > METADATA_MAX_BYTES) {
    throw new SkerryError("bad_request", `"metadata" has more than ${METADATA_MAX_BYTES} bytes.`, {
      context: { field: "metadata" },
    });
  }
  return metadata;
}
