// `skerry completion`: what a shell needs to complete commands, flags, ids and names. The shell's script asks the program for the words, so it
// fits every version.

import { Argument, type Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../input/options.ts";
import { wordsFor } from "./completion-words.ts";

/** What `completion words` ends with where no file of this machine can stand. */
const NO_FILES = 3;

const scripts: Readonly<Record<string, string>> = {
  bash: `_skerry() {
  local word words status=0
  COMPREPLY=()
  words=$(skerry completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || status=$?
  while IFS= read -r word; do
    if [[ -n $word ]]; then COMPREPLY+=("$word"); fi
  done <<< "$words"
  if [[ $status -eq ${NO_FILES} ]]; then compopt +o default 2>/dev/null || true; fi
  if [[ \${COMPREPLY[0]:-} == *: ]]; then compopt -o nospace 2>/dev/null || true; fi
}
complete -o default -F _skerry skerry`,
  zsh: `#compdef skerry
_skerry() {
  local -a found
  local words_found files=0
  words_found=$(skerry completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null) || files=$?
  found=("\${(@f)words_found}")
  if [[ -n "$words_found" ]]; then
    compadd -S '' -- "\${(@M)found:#*:}"
    compadd -- "\${(@)found:#*:}"
  fi
  if (( files != ${NO_FILES} )); then _files; fi
}
compdef _skerry skerry`,
  fish: `function __skerry_words
  set -l typed (commandline -opc)
  set -a typed (commandline -ct)
  skerry completion words -- $typed[2..-1] 2>/dev/null
end
function __skerry_takes_no_file
  __skerry_words >/dev/null
  test $status -eq ${NO_FILES}
end
complete -c skerry -n __skerry_takes_no_file -f
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
      const { words, isFilePossible } = await wordsFor(program, typed, { cli, self });
      for (const word of words) await cli.output.line(word);
      if (!isFilePossible) cli.exitCode = NO_FILES;
    });
}
