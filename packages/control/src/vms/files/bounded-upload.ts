import { SkerryError } from "@skerry/contract/errors";
import { UPLOAD_MAX_BYTES } from "@skerry/contract/bounds";

/** Passes chunks on until there are too many; then it throws, which breaks the call to the host off. */
export class BoundedUpload implements AsyncIterable<Buffer> {
  exceeded = false;
  readonly #content: AsyncIterable<Buffer>;

  constructor(content: AsyncIterable<Buffer>) {
    this.#content = content;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of this.#content) {
      bytes += chunk.length;
      if (bytes > UPLOAD_MAX_BYTES) {
        this.exceeded = true;
        throw uploadTooLarge();
      }
      yield chunk;
    }
  }
}

export function uploadTooLarge(): SkerryError {
  return new SkerryError(
    "payload_too_large",
    `The file is larger than ${UPLOAD_MAX_BYTES} bytes, the largest upload.`,
    {
      remediation:
        "Split the file, or have a command in the microVM fetch it. `skerry cp` takes larger ones.",
      context: { max_bytes: UPLOAD_MAX_BYTES },
    },
  );
}
