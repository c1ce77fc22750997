import { script } from '@bomb.sh/tab'
import tab from '@bomb.sh/tab/commander'
import type { Command } from 'commander'
import type { RunCommand } from './command.ts'

/** The script for bash reads the words with a function of the package bash-completion, which is not on every machine. */
const withoutBashCompletion = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
  words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
}
`

/** Prints the script that completes commands, options, streams and jobs in a shell. */
export const completion: RunCommand = async (session, _options, [shell]) => {
  if (shell === 'bash') session.io.stdout.write(withoutBashCompletion)
  script(String(shell), 'forecourt', 'forecourt')
  return 0
}

/** Answers the script, which runs "forecourt complete -- <words>" for each TAB. */
export function complete(program: Command, words: string[]): void {
  const root = tab(program)
  root.commands.delete('complete')
  for (const command of root.commands.values())
    for (const [name, option] of root.options) command.options.set(name, option)
  root.parse(words)
}
