// Words that other tools have for what is here. Where they mean the same deed they are aliases; where they could mean several, or need more than
// the word, they are errors that say what to type.

import type { Command } from "commander";
import { CliError, exitCodes } from "../errors/errors.ts";

type Words = Readonly<Record<string, string>>;

/** By group and command. */
const aliases: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  sandbox: { destroy: ["rm", "delete"], list: ["ps"] },
  machine: { destroy: ["rm", "delete"], list: ["ps"] },
  org: { delete: ["rm"], list: ["ls"] },
  host: { remove: ["rm", "delete"], list: ["ls"] },
  template: { list: ["ls"], delete: ["rm"] },
  registry: { logout: ["rm", "delete"], list: ["ls"] },
  size: { list: ["ls"] },
  runs: { list: ["ls", "ps"] },
  audit: { list: ["ls"] },
  token: { revoke: ["rm", "delete"], list: ["ls"] },
};

const PROGRAM = "skerry";
const REMOVE = "`skerry sandbox destroy ID` and `skerry machine destroy ID` do that.";
const EXEC = "`skerry sandbox exec ID -- COMMAND` and `skerry machine exec ID -- COMMAND` run commands.";
const LIST = "`skerry ps` lists sandboxes and machines; `skerry sandbox list` has more flags.";
const CREATE = "`skerry sandbox create` and `skerry machine create` do that.";
const POWER = "`skerry machine start`, `stop` and `restart` do that to machines.";
const FIGURES =
  "`skerry status` counts what there is, `skerry org limits` shows what is taken, and /metrics has figures over time.";
const WATCH =
  "No command watches them: `watch skerry ps` does, `skerry logs ID --follow` shows what comes, and `skerry sandbox watch ID DIRECTORY` what changes in one.";
const MEMBERS =
  "`skerry org members` lists the members of the organization, and `skerry org add-member NAME` adds one.";
const METRICS =
  "`skerry sandbox metrics ID` and `skerry machine metrics ID` show one's figures, `skerry usage` those of the organization; /metrics has those of the platform.";
const SHELL = "`skerry sandbox shell ID` and `skerry machine shell ID` open a terminal.";
const EXECUTIONS =
  "`skerry sandbox executions ID` and `skerry machine executions ID` list them; `attach` and `kill` take one of them.";

const VOLUMES =
  "Skerry has no volumes. The disk of a machine or of a persistent sandbox stays through stops and pauses, and `skerry snapshot` keeps its states.";
const DATABASES =
  "Skerry runs no databases for you. A template with `apt-get install postgresql` and a machine of it is one.";
const SETTINGS =
  "`skerry login` saves the address and the token, and `skerry whoami` shows those in use. Settings of a server are environment variables: docs/settings.md lists them.";
const TOKENS = "`skerry auth token` makes one, and `skerry auth token list` lists them.";
const LIMITS = "`skerry org limits ORG --set NAME=NUMBER` changes them.";
const EGRESS =
  "`skerry sandbox egress ID` and `skerry machine egress ID` show and change what a VM may reach.";
const PORTS =
  "`skerry sandbox ports ID` and `skerry machine ports ID` show them; `url` and `forward` reach one.";
const IMAGES =
  "`skerry template list` shows what there is to start from, and `skerry template build` makes a template of a folder or an image.";
const PULL = "`skerry template build --image REFERENCE --name NAME` makes a template of a registry's image.";
const INIT =
  "Nothing has to be set up in a folder: `skerry login` saves a server, and `skerry template build FOLDER` detects what a folder is.";
const SCALE =
  "`skerry app scale APP web=3` sets how many instances an app has, and `skerry machine update ID --size SIZE` gives a machine another size.";
const UPDATE =
  "`skerry machine update ID` and `skerry sandbox update ID` change one. On the server's machine `skerry upgrade` has a new version run.";
const ENV =
  "`skerry machine update ID --env NAME=VALUE` changes a machine's, and `--env` and `--env-file` of `create`, `exec` and `run` give them.";

const ofVm = (noun: string): Words => ({
  run: `\`skerry run -- COMMAND\` runs one in a sandbox of its own, \`skerry ${noun} exec ID -- COMMAND\` in this one.`,
  ssh: `\`skerry ${noun} shell ID\` opens a terminal.`,
  cp: "`skerry cp ./file ID:/root/` copies either way.",
  inspect: `\`skerry ${noun} get ID\` shows it.`,
  stats: FIGURES,
});

const hints: Readonly<Record<string, Words>> = {
  [PROGRAM]: {
    ...{ rm: REMOVE, delete: REMOVE, destroy: REMOVE, kill: REMOVE },
    ...{ exec: EXEC, ssh: SHELL, shell: SHELL },
    ...{ executions: EXECUTIONS, attach: EXECUTIONS },
    ...{ list: LIST, ls: LIST, create: CREATE, start: POWER, stop: POWER, restart: POWER },
    ...{ stats: FIGURES, top: FIGURES, watch: WATCH, metrics: METRICS },
    ...{ members: MEMBERS, member: MEMBERS, users: MEMBERS },
    get: "`skerry sandbox get ID` and `skerry machine show ID` do that.",
    inspect: "`skerry sandbox get ID` and `skerry machine show ID` do that.",
    ...{ image: IMAGES, images: IMAGES, pull: PULL, init: INIT, scale: SCALE, env: ENV },
    update: UPDATE,
    ...{ token: TOKENS, tokens: TOKENS },
    apps: "`skerry app list` lists them.",
    ...{ secrets: "`skerry secret list` lists them.", volume: VOLUMES, volumes: VOLUMES },
    ...{ db: DATABASES, database: DATABASES, databases: DATABASES, postgres: DATABASES },
    ...{ config: SETTINGS, context: SETTINGS, limits: LIMITS, "set-limits": LIMITS },
    ...{ egress: EGRESS, network: EGRESS, firewall: EGRESS },
    ...{ port: PORTS, ports: PORTS, url: PORTS, forward: PORTS },
    pause: "`skerry sandbox pause ID` and `skerry sandbox resume ID` do that to sandboxes.",
    resume: "`skerry sandbox pause ID` and `skerry sandbox resume ID` do that to sandboxes.",
    fork: "`skerry sandbox fork ID` and `skerry machine fork ID` do that.",
    hosts: "`skerry host list` lists them.",
  },
  sandbox: {
    ...ofVm("sandbox"),
    stop: "A sandbox has no such state: `skerry sandbox destroy ID` ends it.",
  },
  machine: { ...ofVm("machine"), scale: SCALE, env: ENV },
  build: { ".": "`skerry template build .` builds this folder." },
};

/** For the whole tree, once it is complete: no word takes the place of a command that is there. */
export function addOtherWords(command: Command): void {
  // `skerry template build` is called like the group `skerry build`, and takes a folder.
  if (command.commands.length === 0) return;
  const group = command.name();
  for (const [name, words] of Object.entries(aliases[group] ?? {}))
    command.commands.find((one) => one.name() === name)?.aliases(words);
  for (const [word, hint] of Object.entries(hints[group] ?? {}))
    if (commandCalled(command, word) === undefined) addHint(command, word, hint);
  for (const one of command.commands) addOtherWords(one);
}

export function commandCalled(parent: Command, word: string): Command | undefined {
  return parent.commands.find((one) => one.name() === word || one.aliases().includes(word));
}

function addHint(parent: Command, word: string, hint: string): void {
  const path = parent.name() === PROGRAM ? PROGRAM : `${PROGRAM} ${parent.name()}`;
  parent
    .command(word, { hidden: true })
    .argument("[rest...]")
    .allowUnknownOption()
    .helpOption(false)
    .action(() => {
      throw new CliError("unknown_command", `There is no command \`${path} ${word}\`.`, {
        remediation: hint,
        exitCode: exitCodes.usage,
      });
    });
}
