import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { terminalPicture } from './terminal-picture.ts'

// Run by `npm run picture`: runs the demo in an empty folder and draws the first four paragraphs of what it prints.
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const file = new URL('../../src/app/commands/demo.svg', import.meta.url)
const folder = mkdtempSync(join(tmpdir(), 'forecourt-picture-'))
const forecourt = (...args: string[]) =>
  spawnSync(process.execPath, [main, ...args], { cwd: folder, encoding: 'utf8' })
try {
  const { status, stdout, stderr } = forecourt('demo')
  if (status !== 0) throw new Error(`demo ended with ${status}: ${stderr}`)
  const paragraphs = stdout.split('\n\n').slice(0, 4)
  writeFileSync(
    file,
    terminalPicture('npm run demo', `${paragraphs.join('\n\n')}\n\n…`.split('\n')),
  )
} finally {
  forecourt('warehouse', 'stop')
  rmSync(folder, { recursive: true, force: true })
}
console.log('Wrote src/app/commands/demo.svg')
