import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { someOf } from '../../support/cases.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url))

/** A folder with an executable "forecourt", as an installation has it. */
async function installed(folder: string): Promise<Record<string, string>> {
  await mkdir(join(folder, 'bin'))
  const program = join(folder, 'bin', 'forecourt')
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
  await chmod(program, 0o755)
  return { HOME: folder, PATH: `${join(folder, 'bin')}:${process.env['PATH']}` }
}

const has = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0

test.for(
  someOf<{ readonly typed: string; readonly offers: readonly string[] }>(
    [
      { typed: 'forecourt rep', offers: ['replay', 'reprice'] },
      { typed: 'forecourt stock ', offers: ['export', 'help', 'import', 'watch'] },
      {
        typed: 'forecourt stock import x.csv --all',
        offers: [
          ...['--allow-mass-change', '--allow-mass-removal', '--allow-older-values'],
          '--allow-unusual-values',
        ],
      },
      { typed: 'forecourt sync --js', offers: ['--json'] },
      { typed: 'forecourt sync users eval', offers: ['evaluations'] },
      { typed: 'forecourt backfill ', offers: ['evaluations', 'vehicle-checks'] },
      { typed: 'forecourt run nigh', offers: ['nightly'] },
      { typed: 'forecourt --log-level w', offers: ['warn'] },
      { typed: 'forecourt api getevall', offers: ['getevallist'] },
    ],
    2,
  ),
)('bash completes "$typed"', async ({ typed, offers }) => {
  await using folder = await temporaryFolder()
  const env = await installed(folder.path)
  // What readline sets when TAB is pressed at the end of the line.
  const press = `source <(forecourt completion bash)
line=$1; COMP_WORDS=($line); [[ $line == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=\${#line}
compopt() { :; }
$(complete -p forecourt | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
printf '%s\\n' "\${COMPREPLY[@]}"`

  const output = execFileSync('bash', ['-c', press, 'bash', typed], { env, encoding: 'utf8' })

  expect(output.trim().split('\n').sort()).toEqual(offers)
})

test.for(someOf(['zsh', 'fish'], 1))(
  'the script for %s has no fault of syntax, where the shell is installed',
  async (shell) => {
    await using folder = await temporaryFolder()
    const env = await installed(folder.path)
    const script = join(folder.path, 'script')
    await writeFile(script, execFileSync('forecourt', ['completion', shell], { env }))

    const { status, stderr } = has(shell)
      ? spawnSync(shell, ['-n', script], { env, encoding: 'utf8' })
      : spawnSync('grep', ['-c', 'forecourt complete --', script], { encoding: 'utf8' })

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  },
)
