import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect } from 'vitest'
import { parse, stringify } from 'yaml'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { installTools } from './tools.ts'
import { type EcosystemWarehouse, loginVariables, openEcosystemWarehouse } from './warehouse.ts'

const datacontract = await installTools('contract')
const file = fileURLToPath(new URL('../../sql/bi/contract/forecourt.odcs.yaml', import.meta.url))

let warehouse: EcosystemWarehouse
let folder: TemporaryFolder

beforeAll(async () => {
  if (datacontract.reason !== null) return
  warehouse = await openEcosystemWarehouse()
  folder = await temporaryFolder()
})
afterAll(async () => {
  await warehouse?.[Symbol.asyncDispose]()
  await folder?.[Symbol.asyncDispose]()
})

/** Exit code of a test of the contract as a reader, and the checks that did not pass. */
async function testContract(contract: string, ...words: string[]) {
  const login = loginVariables(warehouse.logins.url('reader'))
  const report = join(folder.path, 'report.json')
  const ended = await datacontract.run(
    'datacontract',
    ['test', contract, '--output', report, '--output-format', 'json', ...words],
    {
      cwd: folder.path,
      env: {
        DATACONTRACT_POSTGRES_HOST: login['PGHOST']!,
        DATACONTRACT_POSTGRES_PORT: login['PGPORT']!,
        DATACONTRACT_POSTGRES_DATABASE: login['PGDATABASE']!,
        DATACONTRACT_POSTGRES_USERNAME: login['PGUSER']!,
        DATACONTRACT_POSTGRES_PASSWORD: login['PGPASSWORD']!,
      },
    },
  )
  const { checks } = JSON.parse(await readFile(report, 'utf8')) as {
    checks: { result: string; model: string; field: string | null; type: string; reason: string }[]
  }
  const notPassed = checks
    .filter(({ result }) => result !== 'passed')
    .map((check) => `${check.model}.${check.field} ${check.type} ${check.result}: ${check.reason}`)
  return { ...ended, count: checks.length, notPassed }
}

datacontract.test('the contract is valid, and a loaded warehouse fulfils it', async () => {
  const linted = await datacontract.run('datacontract', ['lint', file], { cwd: folder.path })
  const tested = await testContract(file)

  expect(linted.code, linted.stdout).toBe(0)
  expect(tested.notPassed).toEqual([])
  expect(tested.code, tested.stdout).toBe(0)
  expect(tested.count).toBeGreaterThan(500)
})

datacontract.test(
  'a column that the warehouse lacks or has with another type fails by name',
  async () => {
    const contract = parse(await readFile(file, 'utf8'))
    const { properties } = contract.schema.find(({ name }: { name: string }) => name === 'dim_user')
    properties.push({ name: 'left_at', logicalType: 'timestamp', physicalType: 'timestamptz' })
    properties[0].physicalType = 'date'
    const broken = join(folder.path, 'broken.odcs.yaml')
    await writeFile(broken, stringify(contract))

    const tested = await testContract(broken, '--schema-name', 'dim_user')

    expect(tested.code).toBe(1)
    expect(tested.notPassed.join('\n')).toContain('dim_user.left_at')
    expect(tested.notPassed.join('\n')).toContain(`dim_user.${properties[0].name}`)
  },
)
