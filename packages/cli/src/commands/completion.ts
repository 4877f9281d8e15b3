// `skerry completion`: what a shell needs to complete commands, flags, ids and names. The shell's script asks the program for the words, so it
// fits every version.

import { Argument, type Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../options.ts";
import { wordsFor } from "./completion-words.ts";

const scripts: Readonly<Record<string, string>> = {
  bash: `_skerry() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(skerry completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _skerry skerry`,
  zsh: `#compdef skerry
_skerry() {
  local -a found
  found=("\${(@f)$(skerry completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _skerry skerry`,
  fish: `function __skerry_words
  set -l typed (commandline -opc)
  set -a typed (commandline -ct)
  skerry completion words -- $typed[2..-1] 2>/dev/null
end
complete -c skerry -a '(__skerry_words)'`,
};

export function registerCompletionCommands(program: Command, cli: Cli): void {
  const completion = program
    .command("completion")
    .description("Print what completes skerry's commands, flags, ids and names in your shell.")
    .addArgument(new Argument("<shell>", "your shell").choices(Object.keys(scripts)))
    .action((shell: string) => cli.output.text(scripts[shell] ?? ""));
  addExamples(
    completion,
    "source <(skerry completion bash)",
    "skerry completion bash > /etc/bash_completion.d/skerry",
    'skerry completion zsh > "${fpath[1]}/_skerry"',
    "skerry completion fish > ~/.config/fish/completions/skerry.fish",
  );
  completion
    .command("words", { hidden: true })
    .description("Print the words that can stand where the last one stands.")
    .argument("[words...]", "the command line so far")
    .action(async (typed: readonly string[], _flags: object, self: Command) => {
      for (const word of await wordsFor(program, typed, cli, self)) await cli.output.line(word);
    });
}
