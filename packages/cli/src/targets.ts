// What the user means by an id, the beginning of an id, or a name. A full id, and what the API takes as a name, is sent as it is; only when
// there is nothing of that name, the list tells which id begins like it.

import { idKinds, isId, kindOf, type IdKind } from "@skerry/contract/ids";
import { SkerryApiError, type Skerry } from "@skerry/sdk";
import { CliError, InterruptedError } from "./errors/errors.ts";

export interface Named {
  readonly id: string;
  readonly name: string | null;
}

/** What a command is about. */
export interface TargetKind {
  readonly kind: IdKind;
  /** Of the group of commands: `skerry NOUN list`. */
  readonly noun: string;
  /** The command that shows those that there are, where it is not the group's own `list`. */
  readonly listCommand?: string;
  /** Those that it can be. */
  readonly list: () => AsyncIterable<Named>;
  /** Why there is none of this name, where more can be said than that there is none. */
  readonly explain?: (text: string) => Promise<CliError | undefined>;
}

/** A list that goes on is not searched further: the beginning of an id of one in it would be ambiguous anyway. */
const SEARCHED_MAX = 5_000;

/** Runs the command's work on what `text` means. Where there is no such thing, the error says which one there is not. */
export async function onTarget<Result>(
  target: TargetKind,
  text: string,
  work: (id: string) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(text);
  } catch (error) {
    if (!isNotFound(target.kind, error)) throw error;
    const id = isId(target.kind, text) ? undefined : await findId(target, text).catch(keepAmbiguous);
    if (id === undefined) throw await missing(target, text);
    return work(id);
  }
}

/** For what goes into the request beside its path. */
export async function idMeant(target: TargetKind, text: string): Promise<string> {
  const id = isId(target.kind, text) ? text : await findId(target, text);
  if (id === undefined) throw await missing(target, text);
  return id;
}

/** For work that cannot be done twice, because it reads standard input. What cannot be found out is for the server to say. */
export async function onTargetOnce<Result>(
  target: TargetKind,
  text: string,
  work: (id: string) => Promise<Result>,
): Promise<Result> {
  const found = isId(target.kind, text) ? text : await findId(target, text).catch(keepAmbiguous);
  try {
    return await work(found ?? text);
  } catch (error) {
    throw isNotFound(target.kind, error) ? await missing(target, text) : error;
  }
}

/** The id of the one that has this name, or whose id begins like this, with or without its kind. */
export async function findId({ kind, noun, list }: TargetKind, text: string): Promise<string | undefined> {
  const prefix = `${idKinds[kind]}_`;
  const beginning = text.startsWith(prefix) ? text : prefix + text;
  const found = new Map<string, Named>();
  let searched = 0;
  for await (const item of list()) {
    const begins = text !== "" && beginning !== prefix && item.id.startsWith(beginning);
    if (item.name === text || begins) found.set(item.id, item);
    searched += 1;
    if (searched === SEARCHED_MAX) break;
  }
  const [first] = found.keys();
  if (found.size <= 1) return first;
  const candidates = [...found.values()].slice(0, CANDIDATES_SHOWN);
  throw new CliError("ambiguous", `"${text}" can mean ${found.size} of them.`, {
    remediation: `Give more of the id of the ${noun}:`,
    lines: candidates.map(({ id, name }) => (name === null ? id : `${id}  ${name}`)),
  });
}

const CANDIDATES_SHOWN = 10;

/** A list that cannot be read, for example because the token may not, leaves the answer with the server. */
function keepAmbiguous(error: unknown): undefined {
  if (error instanceof CliError || error instanceof InterruptedError) throw error;
  return undefined;
}

function isNotFound(kind: IdKind, error: unknown): boolean {
  if (!(error instanceof SkerryApiError)) return false;
  // Paths that take ids only refuse a name as no id.
  return error.code === codes[kind] || (error.code === "bad_request" && error.context?.["field"] === "id");
}

/** Those that the caller is a member of. */
export function organizationTarget({ organizations }: Skerry, signal: AbortSignal): TargetKind {
  return { kind: "organization", noun: "organization", list: () => organizations.list({ signal }) };
}

const codes: { readonly [Kind in IdKind]?: string } = {
  sandbox: "sandbox_not_found",
  machine: "machine_not_found",
  host: "host_not_found",
  organization: "organization_not_found",
  token: "token_not_found",
  user: "member_not_found",
  execution: "execution_not_found",
};

async function missing(target: TargetKind, text: string): Promise<CliError> {
  const kind = kindOf(text);
  const isWholeId = kind !== undefined && isId(kind, text);
  // That it cannot be found out is no other failure than the one that is told.
  const explained = isWholeId ? undefined : await target.explain?.(text).catch(keepInterrupt);
  return explained ?? notFound(target, text);
}

function keepInterrupt(error: unknown): undefined {
  if (error instanceof InterruptedError) throw error;
  return undefined;
}

function notFound({ kind, noun, listCommand }: TargetKind, text: string): CliError {
  const other = kindOf(text);
  const isOther = other !== undefined && other !== kind && isId(other, text);
  return new CliError(codes[kind] ?? "not_found", `There is no ${noun} "${text}".`, {
    remediation: isOther
      ? `This is the id of ${/^[aeiou]/.test(other) ? "an" : "a"} ${other}${wayTo(other)}.`
      : `\`skerry ${listCommand ?? listCommands[kind] ?? `${noun} list`}\` shows those that there are.`,
  });
}

/** Names the command for resources of another kind. */
function wayTo(kind: IdKind): string {
  if (kind === "sandbox" || kind === "machine") return `: use \`skerry ${kind}\``;
  return kind === "execution" ? ": `skerry runs logs ID` shows what it printed" : "";
}

const listCommands: { readonly [Kind in IdKind]?: string } = {
  organization: "org list",
  token: "auth token list",
  user: "org members",
  sandbox: "sandbox list --all",
  machine: "machine list --all",
};
