import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { startSandbox } from '#src/sandbox/server.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url))

test('a result larger than a pipe reaches a reader that takes its time', async () => {
  const evaluations = Array.from({ length: 4000 }, (_, at) => anEvaluation({ evalId: at + 1 }))
  await using sandbox = await startSandbox({ world: worldOf({ evaluations }) })
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(sandbox.clientConfig()))

  // A pipe of the shell holds 64 KiB until somebody reads.
  const command = `'${process.execPath}' '${main}' --json api getevallist | (sleep 4; cat)`
  const text = await new Promise<string>((done) => {
    const options = { cwd: folder.path, maxBuffer: 64 * 1024 * 1024 }
    execFile('sh', ['-c', command], options, (_error, stdout) => done(stdout))
  })

  expect(text.length).toBeGreaterThan(200_000)
  expect(JSON.parse(text)).toHaveLength(4000)
})
