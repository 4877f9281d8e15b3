// Templates: what sandboxes and machines are made of.

import type { Build } from "@skerry/contract/builds/build";
import type { BuildRequest } from "@skerry/contract/builds/build-request";
import type { BuildLogLine } from "@skerry/contract/builds/build-log";
import type { TemplatePushRequest } from "@skerry/contract/builds/template-push";
import { SkerryError } from "@skerry/contract/errors";
import { packFolder, planShown, readFolder } from "#folder";
import { Builds } from "../builds/builds.ts";
import { GeneratedTemplates } from "../generated/templates.ts";
import type { UploadContent } from "../vms/files/files.ts";
import type { FolderPlan, FolderWish } from "../folder/read-folder.ts";
import { keyHeader, type CreateOptions, type HttpClient } from "../http/http.ts";
import { SkerryApiError } from "../errors/api-errors.ts";
import { SkerryConnectionError, SkerryInputError } from "../errors/errors.ts";
import { segment } from "../http/paths.ts";

export interface PushOptions extends CreateOptions {
  /** Told of the build as soon as there is one. */
  readonly onBuild?: ((build: Build) => void) | undefined;
  /** Told of each line of its log. */
  readonly onLine?: ((line: BuildLogLine) => void) | undefined;
}

export interface BuildOptions extends PushOptions {
  /** What `copy` and a Dockerfile read, or the image of `archive`: a tar archive, not compressed and of at most 2 GiB. */
  readonly context?: UploadContent | undefined;
  /** Values for `RUN --mount=type=secret,id=NAME` of a Dockerfile, by their names. They are kept in the memory of the build's microVM alone. */
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

/** Of a folder: what it is need not be said. */
export type FolderBuildRequest = Omit<
  BuildRequest,
  "context" | "context_digests" | "image" | "archive" | "git"
>;
export type FolderBuildOptions = Omit<BuildOptions, "context">;

/** A plan, which is made here, says what is wrong with a folder by the server's kind of error; callers get the client's own. */
async function asInput<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof SkerryError)) throw error;
    throw new SkerryInputError(error.message, error.remediation ?? "", error.code);
  }
}

export class Templates extends GeneratedTemplates {
  readonly #builds: Builds;

  constructor(http: HttpClient) {
    super(http);
    this.#builds = new Builds(http);
  }

  /**
   * Builds a template, and resolves when the build has ended: with `status` `ready` and the `template_id`, or with `failed` or `canceled` and its
   * `error`. The build goes on where `signal` aborts; `builds.cancel()` ends it.
   */
  async build(request: BuildRequest, options: BuildOptions = {}): Promise<Build> {
    const { context, onBuild } = options;
    const begun = await this.beginBuild(
      context === undefined ? request : { ...request, context: true },
      options,
    );
    onBuild?.(begun);
    await this.#send(begun, options).catch((error: unknown) => {
      // The build ended before it had all. How it ended says more than the refusal of what it has no use for.
      if (!(error instanceof SkerryApiError) || error.code !== "build_over") throw error;
    });
    return this.#untilEnd(begun, options);
  }

  /**
   * Builds a template of a folder of this machine, as `skerry template build FOLDER` does: what it is is detected where neither `steps` nor `dockerfile` say
   * what is to be done, `.dockerignore` counts, and the build begins where the folder differs from one before. Resolves as `build` does. Throws
   * `SkerryInputError` for what cannot be built or sent, with the code `app_not_detected`, `context_too_large`, `invalid_build`, `no_folder`,
   * `not_directory`, `no_dockerfile`, `dockerfile_left_out` or `file_changed`, and `no_folders` where there are no files, as in browsers.
   */
  async buildFolder(
    folder: string,
    request: FolderBuildRequest,
    options: FolderBuildOptions = {},
  ): Promise<Build> {
    const read = await asInput(readFolder(folder, request));
    options.signal?.throwIfAborted();
    const sent = await asInput(packFolder(read, request.no_cache !== true));
    options.signal?.throwIfAborted();
    return this.build({ ...request, ...sent.request }, { ...options, context: sent.content });
  }

  /** What a build of the folder would do, and why. Asks no server, and runs nothing; throws as `buildFolder` does. */
  async planFolder(folder: string, wish: FolderWish = {}): Promise<FolderPlan> {
    return asInput(readFolder(folder, wish).then(({ app }) => planShown(app)));
  }

  /**
   * Pushes a version to a registry as an OCI image, and resolves when that has ended: with `status` `ready` and the digest in `pushed`, or with
   * `failed` or `canceled` and its `error`. It goes on where `signal` aborts; `builds.cancel()` ends it.
   */
  async push(nameOrId: string, request: TemplatePushRequest, options: PushOptions = {}): Promise<Build> {
    const begun = await this.beginPush(nameOrId, request, options);
    options.onBuild?.(begun);
    return this.#untilEnd(begun, options);
  }

  async #untilEnd(begun: Build, { onLine, signal }: PushOptions): Promise<Build> {
    let after = 0;
    for (;;) {
      try {
        for await (const line of this.#builds.followLog(begun.id, { after, signal })) {
          after = line.line;
          onLine?.(line);
        }
        return await this.#builds.get(begun.id, { signal });
      } catch (error) {
        // It goes on without us, and what it prints is kept.
        if (!(error instanceof SkerryConnectionError) || signal?.aborted === true) throw error;
        await this.#builds.get(begun.id, { signal });
      }
    }
  }

  /** Where nothing has changed, nothing is built, and nothing is to be sent. */
  async #send(
    { id, waits_for_context }: Build,
    { context, secrets = {}, signal }: BuildOptions,
  ): Promise<void> {
    if (context !== undefined && !waits_for_context) return;
    for (const [name, value] of Object.entries(secrets))
      await this.#builds.sendSecret(id, name, value, { signal });
    if (context !== undefined) await this.#builds.sendContext(id, context, { signal });
  }

  /** Begins a build, and resolves as soon as there is one. */
  beginBuild(request: BuildRequest, options: CreateOptions = {}): Promise<Build> {
    return this.http.json<Build>(
      { method: "POST", path: "/v1/templates", json: request, headers: keyHeader(options), creates: true },
      options,
    );
  }

  /** Begins a push, and resolves as soon as there is its build. */
  beginPush(nameOrId: string, request: TemplatePushRequest, options: CreateOptions = {}): Promise<Build> {
    const path = `/v1/templates/${segment(nameOrId)}/push`;
    return this.http.json<Build>(
      { method: "POST", path, json: request, headers: keyHeader(options), creates: true },
      options,
    );
  }
}
