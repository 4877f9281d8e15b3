// A repository as a build is told of it, `URL[#REF[:FOLDER]]`, as in `docker build`.

import { SkerryError } from "@skerry/contract/errors";
import { contextPath } from "./context-path.ts";

export interface GitSource {
  readonly url: string;
  /** A branch, a tag or the id of a commit; `HEAD` is the repository's own. */
  readonly ref: string;
  /** Path of the folder in it that is built; `.` is all of it. */
  readonly folder: string;
}

/** These protocols alone: what else Git knows reads files of the builder, or runs programs there. */
const URL_PATTERN =
  /^(https?|git):\/\/(\[[0-9a-f:.]{2,45}\]|[A-Za-z0-9]([A-Za-z0-9.-]{0,252}))(:\d{1,5})?(\/[A-Za-z0-9._~%+,=&;!$'()*@:?/-]*)?$/;
const URL_MAX_CHARS = 2_000;
const REF_PATTERN = /^[A-Za-z0-9_][A-Za-z0-9_./+@-]{0,199}$/;

/** Throws `invalid_build` for what is no such source, also for one with a password in it, which rows and logs would keep. */
export function readGitSource(text: string): GitSource {
  const at = text.indexOf("#");
  const url = at < 0 ? text : text.slice(0, at);
  const [ref = "", ...folder] = at < 0 ? [] : text.slice(at + 1).split(":");
  if (/^[a-z]+:\/\/[^/]*@/.test(url))
    throw fault("has a user or a password in it", "Give the URL of a repository that needs no login.");
  if (url.length > URL_MAX_CHARS || !URL_PATTERN.test(url))
    throw fault(
      "is no URL of a repository",
      "A URL begins with https://, http:// or git://; behind it may come #REF or #REF:FOLDER.",
    );
  if (ref !== "" && !isRef(ref))
    throw fault(
      "names no branch, tag or commit behind the #",
      "Name it as Git does, such as #v1.2 or #main.",
    );
  return { url, ref: ref === "" ? "HEAD" : ref, folder: contextPath(folder.join(":") || ".", "`git`") };
}

function isRef(text: string): boolean {
  return REF_PATTERN.test(text) && !text.includes("..");
}

function fault(what: string, remediation: string): SkerryError {
  return new SkerryError("invalid_build", `\`git\` ${what}.`, { remediation, context: { field: "git" } });
}
