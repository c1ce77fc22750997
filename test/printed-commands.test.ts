import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { allCommands } from '#src/app/commands/all.ts'
import { makeProgram } from '#src/cli.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The commands that a source names in its texts, without what they fill in. */
function namedCommands(text: string): string[] {
  // An expression may have others in it.
  const plain = [1, 2, 3].reduce((now) => now.replaceAll(/\$\{[^{}]*\}/g, ' '), text)
  const named = /"forecourt ([a-z][^"\n]*)"|<code>forecourt ([a-z][^\n]*?)<\/code>/g
  return [...plain.matchAll(named)].map(([, quoted, code]) =>
    (quoted ?? code!).replaceAll(/<[^>]*>|&lt;.*?&gt;/g, ' ').trim(),
  )
}

/** What of a command line does not exist; its values are not checked. */
function faultsOf(program: ReturnType<typeof makeProgram>, line: string): string[] {
  let command = program
  return line.split(/\s+/).flatMap((word) => {
    if (word === '--help') return []
    if (word.startsWith('--')) {
      const isKnown = [...command.options, ...program.options].some(({ long }) => long === word)
      return isKnown ? [] : [`${line}: no option ${word}`]
    }
    const below = command.commands.find((one) => one.name() === word)
    if (below === undefined) return command.commands.length > 0 ? [`${line}: no ${word}`] : []
    command = below
    return []
  })
}

test('every command that a text of the program names exists, with its options', async () => {
  const commands = await Promise.all(
    allCommands.map(async (command) => (await command.whole?.()) ?? command),
  )
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const { signal } = new AbortController()
  const io = { environment: { variables: {}, cwd: '/' }, signal, stdout: silent, stderr: silent }
  const program = makeProgram(commands, io, () => {})
  const files = globSync('src/**/*.ts', { cwd: root })
    // Its script calls the program in a way that is for shells alone.
    .filter((file) => !file.endsWith('completion.ts'))
  const lines = files.flatMap((file) => namedCommands(readFileSync(join(root, file), 'utf8')))

  expect(lines.length).toBeGreaterThan(150)
  expect(lines.flatMap((line) => faultsOf(program, line))).toEqual([])
  expect(faultsOf(program, 'backfill --restart')).toEqual([
    'backfill --restart: no option --restart',
  ])
})
