// Commands that groups of resources have alike: a list, a table of one resource, a deed on one or on each. A
// group says its words, its columns and the call; flags of the query and of the body follow from the
// declaration of the operation (`generated/flags.ts`).

import type { CallOptions, ResourceEventKind, Skerry } from "@skerry/sdk";
import { PAGE_MAX } from "@skerry/contract/bounds";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import type { OperationFlags } from "../../generated/flags.ts";
import { addExamples, wholeNumber } from "../../input/options.ts";
import type { NarrowColumns } from "../../output/tables.ts";
import { onTarget, type TargetKind } from "../../targets.ts";
import { addWatchFlag, listOrWatch } from "../../watched-list.ts";
import { forEach } from "../vms/vm-list.ts";
import { addFlags, fieldsGiven } from "./flags.ts";

/** Words of a command. */
interface Words {
  readonly name?: string;
  readonly description: string;
  readonly examples: readonly string[];
}

/** Column of a table: its heading, and the text of an item. */
export type Column<Item> = readonly [heading: string, text: (item: Item) => string];

/** All items, one after the other or at once, or one page of them as the API has it. */
type Listed<Item> = AsyncIterable<Item> | Promise<readonly Item[]> | Promise<Page<Item>>;

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
}

type Query = Readonly<Record<string, never>>;

export interface ListWords<Item> extends Words {
  /** Operation whose query the flags are made of. */
  readonly operation?: OperationFlags;
  /** The query has the names of the API, and `limit` where `hasLimit` is true. */
  readonly read: (client: Skerry, query: Query, options: CallOptions) => Listed<Item>;
  readonly columns: readonly Column<Item>[];
  readonly layout?: NarrowColumns;
  readonly hasLimit?: true;
  /** The group without a further word is this command. */
  readonly isDefault?: true;
  /** The list can be watched by the events of this kind, and of others that change it. */
  readonly watched?: readonly ResourceEventKind[];
}

interface Flags {
  readonly json?: boolean;
  readonly watch?: boolean;
  readonly limit?: number;
  readonly wait?: string;
}

/** `skerry NOUN list`. */
export function addListCommand<Item>(group: Command, cli: Cli, words: ListWords<Item>): Command {
  const { columns, layout, operation, watched } = words;
  const command = begun(group, words, words.name ?? "list", words.isDefault);
  if (watched !== undefined) addWatchFlag(command);
  if (operation !== undefined) addFlags(command, operation);
  if (words.hasLimit === true)
    command.addOption(
      new Option("--limit <count>", `how many to list, 1 to ${PAGE_MAX} (default: 50)`).argParser(
        (text: string) => wholeNumber(text, PAGE_MAX),
      ),
    );
  return command
    .option("--json", "print JSON, as the API has it")
    .action(async (flags: Flags, self: Command) => {
      const client = await cli.client(self);
      const fields = operation === undefined ? {} : fieldsGiven(self, operation);
      const query = flags.limit === undefined ? fields : { ...fields, limit: flags.limit };
      const list = async () => {
        // The flags are those of the operation whose call this is.
        const json = await whole(words.read(client, query as Query, { signal: cli.signal }));
        const rows = json.items.map((item) => columns.map(([, text]) => text(item)));
        const headings = columns.map(([heading]) => heading);
        return { json, show: () => cli.output.table(headings, rows, layout) };
      };
      await listOrWatch(cli, { client, flags, kinds: watched ?? [], list });
    });
}

/** As JSON shows it: a list that has no pages has no cursor either. */
async function whole<Item>(
  listed: Listed<Item>,
): Promise<{ readonly items: readonly Item[]; readonly next_cursor?: string | null }> {
  if (Symbol.asyncIterator in listed) return wholeList(listed);
  const found = await listed;
  return "items" in found ? found : { items: found };
}

/** All items of a list, as the API has its last page. */
export interface WholeList<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: null;
}

export async function wholeList<Item>(listed: AsyncIterable<Item>): Promise<WholeList<Item>> {
  const items: Item[] = [];
  for await (const item of listed) items.push(item);
  return { items, next_cursor: null };
}

interface Argument {
  /** Such as `<id>` or `[id]`, and its help. */
  readonly argument: readonly [name: string, help: string];
  /** How a name, or the beginning of an id, is found; without it the argument is sent as it is. */
  readonly target?: (client: Skerry, signal: AbortSignal) => TargetKind;
}

export interface DeedWords<Item> extends Words, Partial<Argument> {
  /** Operation whose body the flags are made of. */
  readonly operation?: OperationFlags;
  /** Field of the body that is the argument and no flag. */
  readonly argumentField?: string;
  /** `fields`: those of the flags, by the names of the API. */
  readonly act: (client: Skerry, id: string, options: CallOptions, fields: Query) => Promise<Item>;
  /** For `--wait`: the statuses that can be waited for, and the call that waits. */
  readonly waits?: Waits<Item>;
  /** The call answers nothing, or the command prints JSON in any case: there is no `--json`. */
  readonly withoutJson?: true;
  /** Prints it for people. */
  readonly print: (item: Item) => Promise<void>;
}

interface Waits<Item> {
  readonly statuses: readonly string[];
  readonly wait: (client: Skerry, id: string, until: never, options: CallOptions) => Promise<Item>;
}

/** A call about one resource, or about none where there is no argument; it prints what comes of it. */
export function addDeedCommand<Item>(
  group: Command,
  cli: Cli,
  words: DeedWords<Item> & { readonly name: string },
): Command {
  const { act, argument, argumentField, operation, print, target, waits } = words;
  const command = begun(group, words, words.name);
  if (argument !== undefined) command.argument(...argument);
  if (operation !== undefined) addFlags(command, operation, argumentField);
  if (waits !== undefined)
    command.addOption(
      new Option(
        "--wait <status>",
        "wait until it has this status; fails where it ends in another one",
      ).choices(waits.statuses),
    );
  if (words.withoutJson !== true) command.option("--json", "print JSON, as the API has it");
  return command.action(async (...given: readonly unknown[]) => {
    const self = given.at(-1) as Command;
    const { json, wait: until } = self.opts<Flags>();
    const client = await cli.client(self);
    const fields = (operation === undefined ? {} : fieldsGiven(self, operation)) as Query;
    const options = { signal: cli.signal };
    const work = async (id: string) => {
      const item = await act(client, id, options, fields);
      if (until === undefined || waits === undefined) return item;
      // The choices of the option are the statuses.
      return cli.waits.during(`Waiting until it is ${until}`, () =>
        waits.wait(client, idOf(item) ?? id, until as never, options),
      );
    };
    const text = argument === undefined ? "" : String(given[0]);
    const item =
      target === undefined ? await work(text) : await onTarget(target(client, cli.signal), text, work);
    return json === true ? cli.output.json(item) : print(item);
  });
}

/** A name may find another resource once this one has ended. */
function idOf(item: unknown): string | undefined {
  return typeof item === "object" && item !== null && "id" in item ? String(item.id) : undefined;
}

export interface EachWords extends Words, Argument {
  readonly name: string;
  /** Line that is printed of it. */
  readonly act: (client: Skerry, id: string, options: CallOptions) => Promise<string>;
}

/** A deed on each of the arguments. One that fails does not keep the others from their turn. */
export function addEachCommand(group: Command, cli: Cli, words: EachWords): Command {
  const { act, argument, target } = words;
  return begun(group, words, words.name)
    .argument(...argument)
    .action(async (texts: readonly string[], _flags: object, self: Command) => {
      const client = await cli.client(self);
      await forEach(cli, texts, async (text) => {
        const work = (id: string) => act(client, id, { signal: cli.signal });
        const line = target === undefined ? work(text) : onTarget(target(client, cli.signal), text, work);
        await cli.output.line(await line);
      });
    });
}

function begun(
  group: Command,
  { description, examples }: Words,
  name: string,
  isDefault: boolean = false,
): Command {
  return addExamples(group.command(name, { isDefault }), ...examples).description(description);
}
