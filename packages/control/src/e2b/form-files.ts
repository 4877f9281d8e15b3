// The files of a form (`multipart/form-data`). Nothing here holds a form: what is not read yet stays with the client.

import { PassThrough, type Readable } from "node:stream";
import { Busboy, type BusboyFileStream } from "@fastify/busboy";
import type { FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";

/** Of one form. */
const FILES_MAX = 100;
const PART_HEADER_MAX_BYTES = 8 * 1024;

interface FormFile {
  readonly name: string | undefined;
  readonly content: Readable;
}

/** Its files in their order, each as it comes. The next one comes after the one before was read. */
export async function* filesOf({
  raw,
  headers,
}: Pick<FastifyRequest, "raw" | "headers">): AsyncGenerator<FormFile> {
  const found = new PassThrough({ objectMode: true, highWaterMark: 1 });
  const form = formReader(headers);
  form.on("file", (_field: string, content: BusboyFileStream, name: string | undefined) => {
    // A form that is cut off breaks the part that is being read, also where it is not read yet.
    content.on("error", (error: unknown) => content.destroy(formUnreadable(error)));
    // While a file waits for its turn no more is read of the form than has come already.
    if (!found.write({ name, content })) raw.unpipe(form);
  });
  form.on("filesLimit", () => found.destroy(tooManyFiles()));
  form.on("finish", () => found.end());
  form.on("error", (error: unknown) => found.destroy(formUnreadable(error)));
  raw.once("close", () => {
    if (!raw.complete)
      found.destroy(new SkerryError("canceled", "The client went away in the middle of its request."));
  });
  found.on("drain", () => raw.pipe(form));
  raw.pipe(form);
  try {
    yield* found as AsyncIterable<FormFile>;
  } finally {
    found.removeAllListeners("drain");
    raw.unpipe(form);
  }
}

function formReader(headers: FastifyRequest["headers"]): InstanceType<typeof Busboy> {
  try {
    return new Busboy({
      headers: { ...headers, "content-type": headers["content-type"] ?? "" },
      preservePath: true,
      // A file is what the field is named, also where it has no name of its own.
      isPartAFile: (field) => field === "file",
      limits: { files: FILES_MAX, fields: 0, headerSize: PART_HEADER_MAX_BYTES },
    });
  } catch (error) {
    throw formUnreadable(error);
  }
}

function tooManyFiles(): SkerryError {
  return new SkerryError(
    "bad_request",
    `The form has more than ${FILES_MAX} files, of which the first were written. Send the others in further forms.`,
  );
}

function formUnreadable(cause: unknown): SkerryError {
  return new SkerryError("bad_request", "The form cannot be read.", { cause });
}
