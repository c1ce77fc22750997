import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Sandbox } from '#src/sandbox/server.ts'

const page = fileURLToPath(new URL('../../../src/api/client/README.md', import.meta.url))

/** The examples of the page by the name in their first line. */
export async function clientExamples(): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(page, 'utf8')
  const blocks = [...text.matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```/gm)]
  return new Map(blocks.map(([, name, code]) => [name!, code!]))
}

/** Writes the examples, changed by `edit`, into a folder. */
export async function writeExamples(folder: string, edit: (code: string) => string) {
  for (const [name, code] of await clientExamples()) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), edit(code))
  }
}

/** An edit: the addresses of a sandbox instead of its usual ones. */
export function usingSandbox({ baseUrl, vehicleDataUrl }: Sandbox): (code: string) => string {
  return (code) =>
    code
      .replace('http://127.0.0.1:4010/v1', baseUrl)
      .replace('http://127.0.0.1:4011', vehicleDataUrl)
}

/** What an example prints, run by Node itself with the keys and the clock of the sandbox. */
export async function runExample(folder: string, name: string, sandbox: Sandbox): Promise<string> {
  const { keys, vehicleData } = sandbox.clientConfig()
  const clock = `const shift = ${sandbox.clock.now().getTime()} - Date.now(), real = Date.now
Date.now = () => real() + shift`
  const args = ['--import', `data:text/javascript,${encodeURIComponent(clock)}`, join(folder, name)]
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: folder,
    env: {
      ...process.env,
      FORECOURT_KEY_AU: keys['au']!.value,
      FORECOURT_VEHICLE_DATA_KEY: vehicleData.apiKey,
    },
  })
  return stdout
}
