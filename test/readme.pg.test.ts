import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, test } from 'vitest'
import { temporaryFolder } from './support/temporary-folder.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
/** The example of a link in the pages. Which checks the demo has depends on the day, so it is run with one of them. */
const linkExample = /^npm run .* links show \w+ \d+/m.exec(
  readFileSync(join(root, 'src/web/links/README.md'), 'utf8'),
)![0]

// This suite itself, what downloads packages, and what needs a container engine.
const notHere = /^npm ci && npm test|^npm pack|^docker /
/** What runs until it is stopped, and what it prints once it is ready. */
const untilStopped = { sandbox: /listens on/, schedule: /nightly/ }

test('every command of the README runs', async () => {
  await using folder = await temporaryFolder()
  for (const name of ['package.json', 'node_modules', 'src', 'jobs', 'sql'])
    symlinkSync(join(root, name), join(folder.path, name))
  const port = await freePorts()
  const shell = (line: string) => startShell(line, folder.path)
  const started: Shell[] = []
  try {
    for (const line of commandLines()) {
      const ready = Object.entries(untilStopped).find(([name]) => line.endsWith(` -- ${name}`))?.[1]
      const command = shell(
        line === linkExample
          ? line.replace(/\d+$/, await aCheck(shell))
          : line.replace(/ sandbox$/, ` sandbox --port ${port}`),
      )
      if (ready === undefined) {
        expect(await command.ended, `${line}\n${command.output()}`).toBe(0)
        if (!line.endsWith('npm run demo')) continue
        const printed = command.output().split('\n').map(withoutFigures)
        expect(printed, 'else: npm run picture').toEqual(expect.arrayContaining(pictureLines()))
        usePort(join(folder.path, 'forecourt.yaml'), port)
      } else {
        started.push(command)
        await expect.poll(() => command.output(), { timeout: 120_000 }).toMatch(ready)
      }
    }
  } finally {
    for (const command of started) command.stop()
    await Promise.all(started.map(({ ended }) => ended))
    await shell('npm run -s forecourt -- warehouse stop').ended
  }
}, 600_000)

/** The id of a PPSR search that the demo loaded. */
async function aCheck(shell: (line: string) => Shell): Promise<string> {
  const warehouse = shell('npm run -s forecourt -- warehouse url')
  await warehouse.ended
  const pool = new pg.Pool({ connectionString: warehouse.output().trim() })
  const { rows } = await pool.query(
    "select check_ref from core.vehicle_check where check_kind = 'ppsr' limit 1",
  )
  await pool.end()
  return rows[0].check_ref
}

/** The lines of the README's shell blocks and of its cron line, as they are run here. */
function commandLines(): string[] {
  const lines = [...readme.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, text]) =>
    text!.split('\n'),
  )
  const cron = [...readme.matchAll(/^[\d*]+(?: [\d*]+){4} +(.*)$/gm)].map(([, line]) => line!)
  expect(cron).toHaveLength(1)
  const commands = [...lines, ...cron]
    .map((line) => line.replace(/\s#.*/, '').trim())
    .concat(linkExample)
    .filter((line) => line !== '' && !notHere.test(line))
    .map((line) => line.replace('npm ci && ', '').replace('/opt/forecourt', '.'))
  // Postgres has to run for what comes after it.
  const stop = commands.findIndex((line) => line.endsWith('warehouse stop'))
  return [...commands.toSpliced(stop, 1), commands[stop]!]
}

/** What the picture of the README shows below its command. */
function pictureLines(): string[] {
  const svg = readFileSync(join(root, 'src/app/commands/demo.svg'), 'utf8')
  return [...svg.matchAll(/<text [^>]*>(.*)<\/text>/g)]
    .map(([, text]) => withoutFigures(unescaped(text!)))
    .slice(1, -1)
}

function unescaped(text: string): string {
  const signs = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' }
  return text.replaceAll(/&\w+;/g, (entity) => signs[entity as keyof typeof signs] ?? entity)
}

/** Figures differ from day to day, and with them the width of columns. */
function withoutFigures(line: string): string {
  return line.replaceAll(/\d[\d.,]*/g, '0').replaceAll(/\s+/g, ' ')
}

interface Shell {
  readonly ended: Promise<number | null>
  output(): string
  stop(): void
}

/** A line in a shell and a process group of its own: stopping it stops npm and Node too. */
function startShell(line: string, cwd: string): Shell {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  const child: ChildProcess = spawn('sh', ['-c', line], {
    cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE },
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  return {
    ended: new Promise((resolve) => child.once('close', (code) => resolve(code))),
    output: () => output,
    stop: () => {
      if (child.exitCode === null) process.kill(-child.pid!, 'SIGTERM')
    },
  }
}

/** The README's ports may be in use on this machine. */
function usePort(file: string, port: number): void {
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll(':4010', `:${port}`).replaceAll(':4011', `:${port + 1}`))
}

/** The lower of two free ports, below those that systems give to outgoing connections. */
async function freePorts(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 4_000)
    if ((await isFree(port)) && (await isFree(port + 1))) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
