// `--egress-inject`: a secret that requests to a host get on their way. It is written `HOST HEADER: TEXT`,
// `HOST ?PARAMETER={SECRET}` or `HOST basic USER:{SECRET}`; TEXT has `{SECRET}` where the value stands.

import type { InjectRule } from "@skerry/sdk";
import { InvalidArgumentError, type Command } from "commander";

type Parts = Readonly<Record<string, string>>;

const SECRET = String.raw`\{(?<secret>[A-Za-z_][A-Za-z0-9_]*)\}`;
const forms: readonly (readonly [RegExp, (parts: Parts) => Partial<InjectRule>])[] = [
  [
    new RegExp(String.raw`^(?<host>\S+) (?<header>[^\s:?]+): (?<before>[^{}]*)${SECRET}(?<after>[^{}]*)$`),
    ({ header = "", before, after }) => ({ header, format: `${before}{}${after}` }),
  ],
  [new RegExp(String.raw`^(?<host>\S+) \?(?<query>[^\s=]+)=${SECRET}$`), ({ query = "" }) => ({ query })],
  [
    new RegExp(String.raw`^(?<host>\S+) basic (?<user>[^\s:]*):${SECRET}$`),
    ({ user = "" }) => ({ basic_user: user }),
  ],
];

export function addInjectFlag(command: Command): Command {
  return command.option(
    "--egress-inject <rule>",
    "secret that HTTPS requests to a host get on their way, as in 'api.example.com Authorization: Bearer {API_KEY}', '… ?key={API_KEY}' or '… basic user:{API_KEY}'; repeatable",
    collectInject,
  );
}

function collectInject(text: string, before: readonly InjectRule[] = []): readonly InjectRule[] {
  const rule = ruleOf(text);
  if (rule !== undefined) return [...before, rule];
  throw new InvalidArgumentError(
    "It must be 'HOST HEADER: TEXT', 'HOST ?PARAMETER={SECRET}' or 'HOST basic USER:{SECRET}', with one {SECRET} in TEXT.",
  );
}

function ruleOf(text: string): InjectRule | undefined {
  for (const [form, place] of forms) {
    const parts: Parts | undefined = form.exec(text)?.groups;
    if (parts !== undefined)
      return { host: parts["host"] ?? "", secret: parts["secret"] ?? "", ...place(parts) };
  }
  return undefined;
}

/** The rule as the flag takes it, with what the flag cannot say. */
export function injectText({
  host,
  secret,
  header,
  format = "{}",
  query,
  basic_user: user,
  methods,
  paths,
}: InjectRule): string {
  const value = `{${secret}}`;
  const place =
    query !== undefined
      ? `?${query}=${value}`
      : user !== undefined
        ? `basic ${user}:${value}`
        : `${header}: ${format.replace("{}", value)}`;
  const only = [methods?.join(","), paths?.join(",")].filter((one) => one !== undefined);
  return `${host} ${place}${only.length > 0 ? ` (${only.join(" ")})` : ""}`;
}
