// The synchronous half of the Python client, made of its asynchronous half: the same without `async` and `await`, and with other names.

const HEAD = "# Made of the asynchronous half by setup/write-clients.ts. Do not edit.\n";

const REPLACED: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/^from asyncio import to_thread\n/m, ""],
  [/\bto_thread\((\S+), (\w+)\)/g, "$1($2)"],
  [/\bawait /g, ""],
  [/\basync (def|for|with)\b/g, "$1"],
  [/``async with``/g, "``with``"],
  [/\bimport asyncio\b/g, "import time"],
  [/\basyncio\.sleep\b/g, "time.sleep"],
  [/\bAwaitable\[(\w+(?:\[\w+\])?)\]/g, "$1"],
  [/, Awaitable\b/g, ""],
  [/\bAsyncGenerator\[(.+), None\]/g, "Generator[$1, None, None]"],
  [/\bAsync([A-Z]\w*)/g, "$1"],
  [/\bStopAsyncIteration\b/g, "StopIteration"],
  [/\b__a(enter|exit|iter)__\b/g, "__$1__"],
  [/\b__anext__\b/g, "__next__"],
  [/\baclose\b/g, "close"],
  [/\baiter_bytes\b/g, "iter_bytes"],
];

/** The synchronous form of a module. Throws where a word of the asynchronous form is left. */
export function synchronous(name: string, text: string): string {
  const made = REPLACED.reduce(
    (result, [pattern, replacement]) => result.replace(pattern, replacement),
    text,
  );
  const left = /\b(?:async|await|asyncio|_async|a(?:enter|exit|next|close|iter)\w*|Async\w*)\b/.exec(
    made,
  )?.[0];
  if (left !== undefined) throw new Error(`${name}: "${left}" has no synchronous form`);
  // A module that imports both has one of them left.
  const once = made.replace(/^(import time\n)\1/m, "$1");
  // Generated modules say so themselves.
  return once.includes("Do not edit.") ? once : HEAD + once;
}
