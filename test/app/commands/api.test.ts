import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { runInProcess } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let sandbox: Sandbox
let folder: Awaited<ReturnType<typeof temporaryFolder>>

beforeAll(async () => {
  const rooftops = [aRooftop(), aRooftop({ uid: 'rooftop-2', name: 'Rooftop Two', dealerId: 102 })]
  sandbox = await startSandbox({ world: worldOf({ rooftops, evaluations: [anEvaluation()] }) })
  folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(sandbox.clientConfig()))
})

afterAll(async () => {
  await sandbox.close()
  await folder[Symbol.asyncDispose]()
})

const run = (...args: readonly string[]) => runInProcess(args, { cwd: folder.path })

test('an answer is JSON on stdout, with and without --json, and nothing else', async () => {
  const plain = await run('api', 'geteval', '--evalid', '1001', '--rooftop', 'rooftop-1')
  const asJson = await run(
    '--json',
    'api',
    '/v1/GetEval',
    '--evalid=1001',
    '--rooftop',
    'rooftop-1',
  )

  expect(plain).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(plain.stdout)).toMatchObject([{ EvalID: 1001, Make: 'Toyota' }])
  expect(JSON.parse(asJson.stdout)).toMatchObject([{ EvalID: 1001 }])
})

test('the help of an operation says its fields, its statuses and its section', async () => {
  const { code, stdout } = await run('api', 'imageorder', '--help')

  expect(code).toBe(0)
  for (const part of [
    '--evalid <number>',
    '(required)',
    '--ids',
    '--yes',
    '[A §4 /imageorder]',
    '404',
  ])
    expect(stdout).toContain(part)
})

test.each([
  [['geteval', '--evalid', '1'], 'geteval needs --rooftop <uid>, one of: rooftop-1 (Rooftop One)'],
  [['geteval', '--evalid', '1', '--rooftop', 'x'], '--rooftop x is not in the config'],
  [['geteval', '--evalid', 'x', '--rooftop', 'rooftop-1'], '--evalid has to be a number'],
  [['dcupdateeval', '--condition', '11'], '--evalid is missing; --condition has to be at most 10'],
  [['gccfactoryvinext'], 'gccfactoryvinext needs --vin, or --file with an image of the VIN'],
  [['gccpriceguide', '--km', '9000'], 'gccpriceguide needs --adcode or --vin'],
  [['prediction', '--reasoning', '--yes'], 'prediction needs --adcode or --vin'],
  [
    ['geteval', '--state', 'NSW', '--rooftop', 'rooftop-1'],
    'geteval needs --evalid or --vin or --reg or --registration',
  ],
  [
    [
      ...['imageupload', '--evalid', '1', '--rooftop', 'rooftop-1', '--hero', '0', '--yes'],
      ...['--file', import.meta.filename, '--file', import.meta.filename],
    ],
    'imageupload takes several files only without --order, --hero and --firstPic',
  ],
  [['nothing'], 'Unknown command \'nothing\': see "forecourt api --help"'],
  [['geteval', '--evalId', '1'], 'see "forecourt api geteval --help"'],
  [
    ['entervin', '--vin', 'X', '--rooftop', 'rooftop-1'],
    'entervin writes at the source: nothing was sent',
  ],
  [['ppsrsearch', '--evalid', '1', '--rooftop', 'rooftop-1'], 'costs money (budget.ppsrSearch)'],
  [['imageupload', '--evalid', '1', '--rooftop', 'rooftop-1'], 'imageupload needs --file <path>'],
  [
    ['imageupload', '--evalid', '1', '--rooftop', 'rooftop-1', '--file', '/nowhere.jpg'],
    '--file /nowhere.jpg cannot be read',
  ],
  [['price-batch', '--vehicles', '@/nowhere.json'], '--vehicles @/nowhere.json cannot be read'],
  [['price-batch', '--vehicles', '[{}]'], '--vehicles (0.reference) is missing'],
  [
    ['imageupload', '--evalid', '1', '--rooftop', 'rooftop-1', '--file', '.'],
    '--file . is not a file',
  ],
  [['pricingAi', '--evalid', '1', '--every', '0'], '--every 0 must be a number of seconds'],
])('%j is refused before anything is sent, with what to do', async (args, message) => {
  const before = sandbox.requests.count()
  const { code, stdout, stderr } = await run('api', ...args)

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(message)
  expect(sandbox.requests.count()).toBe(before)
})

test.each([
  [
    'price-batch',
    '--vehicles',
    'reference,vin\nS-1,Pat Example',
    'is not JSON: a JSON list is expected (JSON: [{ reference',
  ],
  [
    'price-batch',
    '--vehicles',
    '{"reference":"S-1"}',
    'does not hold a list: a JSON list is expected',
  ],
  [
    'dcupdateeval',
    '--customFields',
    'Pat Example',
    'is not JSON: a JSON object, e.g. {"name": "value"} is expected',
  ],
  ['dcupdateeval', '--customFields', '["Lane"]', 'does not hold an object: a JSON object'],
])(
  '%s %s from a file with other text says what is expected and quotes nothing',
  async (name, flag, text, message) => {
    const file = join(folder.path, 'given.txt')
    await writeFile(file, text)

    const { code, stderr } = await run('api', name, flag, `@${file}`)

    expect(code).toBe(2)
    expect(stderr).toContain(`${flag} @${file} ${message}`)
    expect(stderr).not.toContain('Pat')
  },
)

test.each(['13,11,12', '13\n11\n12\n', '13, 11,\r\n12', '[13, 11, 12]'])(
  'a list of ids in a file may be %j',
  async (text) => {
    const file = join(folder.path, 'ids.txt')
    await writeFile(file, text)

    const args = ['imageorder', '--evalid', '9', '--ids', `@${file}`, '--rooftop', 'rooftop-1']
    await run('api', ...args, '--yes')

    const asked = sandbox.requests.entries().findLast(({ path }) => path === '/imageorder')
    expect(asked!.body).toEqual({ evalid: 9, ids: [13, 11, 12] })
  },
)

test('an error of the service is exit 1, with the status, its words and what the document says', async () => {
  const { code, stdout, stderr } = await run(
    'api',
    'geteval',
    '--evalid',
    '9',
    '--rooftop',
    'rooftop-1',
  )

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain('answered 400: "Evaluation not found"')
  expect(stderr).toContain('Documented as: evaluation not found')
  expect(stderr).not.toContain('partner-au\n')
})

test('without a vehicle-data key the config is at fault', async () => {
  await using other = await temporaryFolder()
  const { vehicleData: _, ...config } = sandbox.clientConfig()
  await writeFile(join(other.path, 'forecourt.yaml'), stringify(config))

  const args = ['api', 'vindatabasic', '--vin', 'SAMPLEAU000000001']
  const { code, stderr } = await runInProcess(args, { cwd: other.path })

  expect(code).toBe(2)
  expect(stderr).toContain('vindatabasic needs vehicleData.apiKey')
})

test('an operation is found behind global options, however it is written', async () => {
  const config = join(folder.path, 'forecourt.yaml')
  const args = ['api', '--config', config, '/GetEval', '--evalid', '1001', '--rooftop', 'rooftop-1']

  const { code, stdout } = await runInProcess(args, { cwd: '/' })

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject([{ EvalID: 1001 }])
})
