// An object store of the S3 kind, which the operator has set. Control alone has its credentials: what a host puts there or gets from there it does by
// URLs that control has signed, each for one object, one method and a while. What is there is sealed before it gets there, so the store is
// trusted with nothing but to keep it.

import { readFile } from "node:fs/promises";
import { AwsV4Signer } from "aws4fetch";
import { SkerryError } from "@skerry/contract/errors";

export interface BucketSettings {
  /** Of the folder in the bucket that is ours, without a slash at its end. */
  readonly url: string;
  readonly region: string;
  /** Lines `aws_access_key_id = …`, `aws_secret_access_key = …`, and maybe `aws_session_token = …`. */
  readonly credentialsFile: string;
}

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

const DELETE_DEADLINE_MS = 30_000;
const DELETE_URL_S = 300;
const NOT_FOUND = 404;
const CREDENTIALS_MAX_BYTES = 16_384;
const CREDENTIAL = /^\s*(aws_access_key_id|aws_secret_access_key|aws_session_token)\s*=\s*(\S+)\s*$/gm;

export class Bucket {
  readonly #settings: BucketSettings;

  constructor(settings: BucketSettings) {
    this.#settings = settings;
  }

  /** URLs of these objects, good for so many seconds: each for this method alone. Throws `object_store_unavailable`. */
  async sign(method: "PUT" | "GET" | "DELETE", names: readonly string[], seconds: number): Promise<string[]> {
    const { url, region } = this.#settings;
    const signing = { ...(await this.#credentials()), region, service: "s3", method, signQuery: true };
    // So that the key of a day and a region is derived once.
    const cache = new Map<string, ArrayBuffer>();
    const signed: string[] = [];
    for (const name of names) {
      const object = `${url}/${name}?X-Amz-Expires=${seconds}`;
      signed.push((await new AwsV4Signer({ ...signing, cache, url: object }).sign()).url.href);
    }
    return signed;
  }

  /** Resolves also where there is none. Throws `object_store_unavailable`. */
  async delete(name: string, stop: AbortSignal): Promise<void> {
    const [url = ""] = await this.sign("DELETE", [name], DELETE_URL_S);
    const signal = AbortSignal.any([stop, AbortSignal.timeout(DELETE_DEADLINE_MS)]);
    let answer: Response;
    try {
      answer = await fetch(url, { method: "DELETE", redirect: "error", signal });
      await answer.body?.cancel();
    } catch (cause) {
      stop.throwIfAborted();
      throw unavailable("It does not answer.", cause);
    }
    if (!answer.ok && answer.status !== NOT_FOUND)
      throw unavailable(`It answers with status ${answer.status}.`);
  }

  /** Read at each use, so that credentials that were changed count at once. */
  async #credentials(): Promise<Credentials> {
    let text: string;
    try {
      text = await readFile(this.#settings.credentialsFile, "utf8");
    } catch (cause) {
      throw unavailable("The file with its credentials cannot be read.", cause);
    }
    const found = new Map(
      [...text.slice(0, CREDENTIALS_MAX_BYTES).matchAll(CREDENTIAL)].map(([, name = "", value = ""]) => [
        name,
        value,
      ]),
    );
    const accessKeyId = found.get("aws_access_key_id");
    const secretAccessKey = found.get("aws_secret_access_key");
    const sessionToken = found.get("aws_session_token");
    if (accessKeyId === undefined || secretAccessKey === undefined)
      throw unavailable(
        "The file with its credentials lacks `aws_access_key_id` or `aws_secret_access_key`.",
      );
    return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
  }
}

function unavailable(why: string, cause?: unknown): SkerryError {
  return new SkerryError("object_store_unavailable", `The object store cannot be used. ${why}`, { cause });
}
