// A server of the S3 kind that is not ours, on loopback: it checks the signatures of what it is asked. Its objects are files.

import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";

const BUCKET = "templates";
const CREDENTIALS = "aws_access_key_id = S3RVER\naws_secret_access_key = S3RVER\n";
/** What the server calls an object's content. */
const CONTENT = "._S3rver_object";

export class S3Server implements AsyncDisposable {
  readonly credentialsFile: string;
  /** Of a folder in a bucket. */
  readonly url: string;
  readonly #folder: string;
  readonly #port: number;
  #server: S3rver;

  private constructor(folder: string, server: S3rver, port: number) {
    this.#folder = folder;
    this.#server = server;
    this.#port = port;
    this.url = `http://127.0.0.1:${port}/${BUCKET}/skerry`;
    this.credentialsFile = join(folder, "credentials");
  }

  static async start(): Promise<S3Server> {
    const folder = await mkdtemp(join(tmpdir(), "skerry-s3-"));
    const server = serverOf(folder, 0);
    const { port } = await server.run();
    const started = new S3Server(folder, server, port);
    // Control, which reads it, runs as another user.
    await chmod(folder, 0o711);
    await writeFile(started.credentialsFile, CREDENTIALS, { mode: 0o644 });
    return started;
  }

  /** Its address refuses connections, until it comes back with what it has. */
  async leave(): Promise<void> {
    await this.#server.close();
  }

  async comeBack(): Promise<void> {
    this.#server = serverOf(this.#folder, this.#port);
    await this.#server.run();
  }

  /** Files of all objects. */
  async objects(): Promise<string[]> {
    const bucket = join(this.#folder, "buckets", BUCKET);
    const files = await readdir(bucket, { recursive: true });
    return files
      .filter((file) => file.endsWith(CONTENT))
      .map((file) => join(bucket, file))
      .toSorted();
  }

  /** One byte in the middle of the file is another one. */
  async change(file: string): Promise<void> {
    const content = await readFile(file);
    const middle = Math.floor(content.length / 2);
    content[middle] = (content[middle] ?? 0) ^ 1;
    await writeFile(file, content);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function serverOf(folder: string, port: number): S3rver {
  return new S3rver({
    ...{ port, address: "127.0.0.1", silent: true, directory: join(folder, "buckets") },
    configureBuckets: [{ name: BUCKET }],
  });
}
