import { chmod, readFile, writeFile } from 'node:fs/promises'
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

/** How runs of an example end with each command as FORECOURT, in one process: an orchestrator takes long to start. */
async function runExample(
  tools: Tools,
  name: 'airflow' | 'dagster',
  { folder, commands, env = {} }: Example,
): Promise<Record<string, unknown>[]> {
  const args = [pathOf(`run-${name}.py`), ...commands]
  const { code, stdout, stderr } = await tools.run('python', args, {
    cwd: folder.path,
    env: {
      ...{ PYTHONPATH: pathOf(name), PYTHONDONTWRITEBYTECODE: '1', ...env },
      FORECOURT_RETRY_SECONDS: '0',
    },
  })
  expect(code, stdout + stderr).toBe(0)
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}

interface Example {
  readonly folder: TemporaryFolder
  readonly commands: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** A program for each exit code from 0 to 3, and how often each was called. */
async function makePrograms(folder: TemporaryFolder) {
  const programs = [0, 1, 2, 3].map((code) => join(folder.path, `program-${code}`))
  for (const [code, program] of programs.entries()) {
    const script = `echo "$@" >> '${program}.calls'\necho '{"code":${code}}'\nexit ${code}\n`
    await writeFile(program, `#!/bin/sh\n${script}`)
    await chmod(program, 0o755)
  }
  const calls = async (program: string) => {
    const lines = (await readFile(`${program}.calls`, 'utf8')).trim().split('\n')
    expect(new Set(lines)).toEqual(new Set(['sync --json']))
    return lines.length
  }
  return { programs, countCalls: async () => await Promise.all(programs.map(calls)) }
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

    const { programs, countCalls } = await makePrograms(folder)
    await using project = await openProject(folder)
    const commands = [...programs, project.command]

    const [night, ...ends] = (
      await runExample(airflow, 'airflow', { folder, commands, env })
    ).reverse()

    expect(ends.reverse().map(({ state, report }) => [state, report])).toEqual([
      ['success', { code: 0 }],
      ['failed', null],
      ['failed', null],
      ['skipped', null],
    ])
    expect(await countCalls()).toEqual([1, 2, 1, 1])
    expect(night!.state).toBe('success')
    expect(JSON.stringify(night!.report)).toMatch(/"evaluations":\{[^}]*"inserted":[1-9]/)
    expect(await project.countEvaluations()).toBeGreaterThan(0)
  },
)

dagster.test(
  'Dagster: each exit code is a state, and the report of a night is metadata',
  async () => {
    await using folder = await temporaryFolder()
    const { programs, countCalls } = await makePrograms(folder)
    await using project = await openProject(folder)
    const commands = [...programs, project.command]

    const [night, ...ends] = (await runExample(dagster, 'dagster', { folder, commands })).reverse()

    expect(ends.reverse().map(({ success, reports }) => [success, reports])).toEqual([
      [true, [{ code: 0 }]],
      [false, []],
      [false, []],
      [true, []],
    ])
    expect(await countCalls()).toEqual([1, 2, 1, 1])
    expect(night!.success).toBe(true)
    expect(JSON.stringify(night!.reports)).toMatch(/"evaluations":\{[^}]*"inserted":[1-9]/)
    expect(await project.countEvaluations()).toBeGreaterThan(0)
  },
)
