import { SkerryError } from "@skerry/contract/errors";
import { UPLOAD_MAX_BYTES } from "@skerry/contract/bounds";

/** Passes chunks on until there are too many; then it throws, which breaks the call to the host off. */
export class BoundedUpload implements AsyncIterable<Buffer> {
  exceeded = false;
  readonly #content: AsyncIterable<Buffer>;
  readonly #maxBytes: number;

  constructor(content: AsyncIterable<Buffer>, maxBytes = UPLOAD_MAX_BYTES) {
    this.#content = content;
    this.#maxBytes = maxBytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of this.#content) {
      bytes += chunk.length;
      if (bytes > this.#maxBytes) {
        this.exceeded = true;
        throw uploadTooLarge(this.#maxBytes);
      }
      yield chunk;
    }
  }
}

export function uploadTooLarge(maxBytes = UPLOAD_MAX_BYTES): SkerryError {
  return new SkerryError(
    "payload_too_large",
    `What is uploaded is larger than ${maxBytes} bytes, the largest upload.`,
    {
      remediation:
        "Split it, or have a command in the microVM fetch it. `skerry cp` takes larger files than an upload.",
      context: { max_bytes: maxBytes },
    },
  );
}
