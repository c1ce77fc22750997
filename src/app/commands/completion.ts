import { script } from '@bomb.sh/tab'
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
