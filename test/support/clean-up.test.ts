import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { someOf } from '../support/cases.ts'
import { until } from './child.ts'
import { temporaryFolder } from './temporary-folder.ts'

const [cleanUp, child] = ['clean-up.ts', 'child.ts'].map((name) =>
  JSON.stringify(new URL(name, import.meta.url).href),
)

/** A process that has begun to guard a folder, and the pid of its child. */
async function startRun(folder: string) {
  const program = `
    import { spawn } from 'node:child_process'
    import { endsWithParent } from ${child}
    import { cleanUpAfter } from ${cleanUp}
    const cleanUp = cleanUpAfter(${JSON.stringify(folder)})
    const idle = [...endsWithParent, '--eval', 'setInterval(() => {}, 1000)']
    const child = spawn(process.execPath, idle)
    process.once('SIGUSR2', () => { child.kill('SIGKILL'); void cleanUp() })
    console.log(child.pid)`
  const run = spawn(process.execPath, ['--input-type=module', '--eval', program])
  const [line] = (await once(run.stdout, 'data')) as [Buffer]
  return { run, child: Number(line) }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test.each(someOf(['SIGKILL', 'SIGINT', 'SIGUSR2'] as const, 1))(
  'a run that ends by %s leaves no folder and no process behind',
  async (signal) => {
    await using outer = await temporaryFolder()
    const folder = join(outer.path, 'run')
    await mkdir(folder)
    await writeFile(join(folder, 'file'), 'text')
    const { run, child } = await startRun(folder)

    run.kill(signal)

    await once(run, 'exit')
    await until(() => !existsSync(folder) && !isAlive(child))
    expect(existsSync(outer.path)).toBe(true)
  },
)
