// Files that the builder makes for instructions of a Dockerfile, beside the context.

export interface DockerfileDocument {
  /** A number for each instruction, and the file's name. */
  readonly path: string;
  readonly text: string;
  readonly isProgram: boolean;
}

/** Name by which COPY and mounts read these files. */
export const DOCUMENTS = "skerry-documents";

/** Where a program that is a document is while it runs. The folder is gone from the image. */
export const PROGRAM_FOLDER = "/.skerry-documents";
