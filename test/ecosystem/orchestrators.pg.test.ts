import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { stringify } from 'yaml'
import { startSandbox } from '#src/sandbox/server.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { installTools, type Tools } from './tools.ts'

const airflow = await installTools('airflow')
const dagster = await installTools('dagster')

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url))

/** Runs an example with FORECOURT as the command, in a folder; what its run printed last. */
async function runExample(
  tools: Tools,
  name: 'airflow' | 'dagster',
  { folder, command, env = {} }: Example,
): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await tools.run('python', [pathOf(`run-${name}.py`)], {
    cwd: folder.path,
    env: {
      ...{ PYTHONPATH: pathOf(name), PYTHONDONTWRITEBYTECODE: '1', ...env },
      ...{ FORECOURT: command, FORECOURT_RETRY_SECONDS: '0' },
    },
  })
  expect(code, stdout + stderr).toBe(0)
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}

interface Example {
  readonly folder: TemporaryFolder
  readonly command: string
  readonly env?: Readonly<Record<string, string>>
}

/** How an example ends with a program that ends with each code: the last word is how often the program was called. */
async function endsOf(
  folder: TemporaryFolder,
  run: (command: string) => Promise<string>,
): Promise<string[]> {
  const program = join(folder.path, 'program')
  const calls = join(folder.path, 'calls')
  const ends: string[] = []
  for (const code of [0, 1, 2, 3]) {
    await rm(calls, { force: true })
    await writeFile(
      program,
      `#!/bin/sh\necho "$@" >> '${calls}'\necho '{"code":${code}}'\nexit ${code}\n`,
    )
    await chmod(program, 0o755)
    const end = await run(program)
    const lines = (await readFile(calls, 'utf8')).trim().split('\n')
    expect(new Set(lines)).toEqual(new Set(['sync --json']))
    ends.push(`${code} ${end} ${lines.length}`)
  }
  return ends
}

const main = pathOf('../../src/main.ts')

/** A folder with the config of a sandbox and an empty warehouse. */
async function openProject(folder: TemporaryFolder) {
  const now = new Date('2026-03-10T00:00:00Z')
  const sandbox = await startSandbox({ evaluations: 60, days: 20, now })
  const database = await createTestDatabase()
  const config = {
    ...sandbox.clientConfig(),
    ...{ warehouse: { url: database.url }, sync: { start: '2026-03-01T00:00:00Z' } },
  }
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))
  return {
    command: `'${process.execPath}' '${main}'`,
    countEvaluations: async () =>
      (await database.pool.query('select count(*)::int as count from core.evaluation')).rows[0]
        .count,
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

airflow.test(
  'Airflow: each exit code is a state, and the report of a night is in XCom',
  async () => {
    await using folder = await temporaryFolder()
    const env = {
      AIRFLOW_HOME: join(folder.path, 'airflow'),
      AIRFLOW__CORE__DAGS_FOLDER: pathOf('airflow'),
      AIRFLOW__CORE__LOAD_EXAMPLES: 'False',
    }
    const migrated = await airflow.run('airflow', ['db', 'migrate'], { env })
    expect(migrated.code, migrated.stderr).toBe(0)

    const ends = await endsOf(folder, async (command) => {
      const { state, report } = await runExample(airflow, 'airflow', { folder, command, env })
      return `${state} ${JSON.stringify(report)}`
    })

    expect(ends).toEqual([
      '0 success {"code":0} 1',
      '1 failed null 2',
      '2 failed null 1',
      '3 skipped null 1',
    ])

    await using project = await openProject(folder)
    const { command } = project
    const night = await runExample(airflow, 'airflow', { folder, command, env })
    expect(night.state).toBe('success')
    expect(JSON.stringify(night.report)).toMatch(/"evaluations":\{[^}]*"inserted":[1-9]/)
    expect(await project.countEvaluations()).toBeGreaterThan(0)
  },
)

dagster.test(
  'Dagster: each exit code is a state, and the report of a night is metadata',
  async () => {
    await using folder = await temporaryFolder()

    const ends = await endsOf(folder, async (command) => {
      const { success, reports } = await runExample(dagster, 'dagster', { folder, command })
      return `${success ? 'success' : 'failed'} ${JSON.stringify(reports)}`
    })

    expect(ends).toEqual([
      '0 success [{"code":0}] 1',
      '1 failed [] 2',
      '2 failed [] 1',
      '3 success [] 1',
    ])

    await using project = await openProject(folder)
    const { command } = project
    const night = await runExample(dagster, 'dagster', { folder, command })
    expect(night.success).toBe(true)
    expect(JSON.stringify(night.reports)).toMatch(/"evaluations":\{[^}]*"inserted":[1-9]/)
    expect(await project.countEvaluations()).toBeGreaterThan(0)
  },
)
