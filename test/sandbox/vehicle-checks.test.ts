import { expect, test } from 'vitest'
import { checkHistory, searchNewPpsr } from '#src/contract/vehicle-data/checks.ts'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { pdfLinkLifeMs } from '#src/sandbox/signed-link.ts'
import { defaultWire, wireSettings } from '#src/values/wire.ts'
import { ask } from './ask.ts'
import { get, sendForm } from './ask-vehicle-data.ts'

const now = new Date('2026-03-10T00:00:00Z')
const dayMs = 86_400_000
const historyPath = '/v1/historyCheck'
const ppsrPath = '/v1/ppsrNewSearch'
const letters = 'ABCDEFGHJKLMNPRSTUVWXYZ'
const manyVins = Array.from(
  { length: 40 },
  (_, at) => `WVWZZZ1KZ${letters[at % 23]}W0000${10 + at}`,
)

function start(options: SandboxOptions = {}) {
  const clock = new VirtualClock({ start: now, frozen: true })
  return startSandbox({ world: worldOf(), clock, ...options })
}

interface History {
  readonly clean: boolean
  readonly titles: { date: string; odometer: number }[]
  readonly brands: unknown[]
  readonly salvage: unknown[]
  readonly accidents: unknown[]
  readonly thefts: unknown[]
  readonly liens: unknown[]
}

test('a history is clean where it has no title brands and no salvage records', async () => {
  await using sandbox = await start()

  const answers = await Promise.all(manyVins.map((vin) => sendForm(sandbox, historyPath, { vin })))
  const reports = answers.map(({ json }) => json as unknown as History)

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  for (const { clean, brands, salvage } of reports)
    expect(clean).toBe(brands.length === 0 && salvage.length === 0)
  expect(new Set(reports.map(({ clean }) => clean))).toEqual(new Set([true, false]))
  const lists = ['titles', 'brands', 'salvage', 'accidents', 'thefts', 'liens'] as const
  for (const list of lists) expect(reports.some((one) => one[list].length > 0)).toBe(true)
})

test('titles carry odometer readings that rise, all in the past', async () => {
  await using sandbox = await start()

  for (const vin of manyVins) {
    const { json } = await sendForm(sandbox, historyPath, { vin })
    const { titles } = json as unknown as History
    expect(titles.length).toBeGreaterThan(0)
    expect(titles).toEqual(titles.toSorted((a, b) => a.odometer - b.odometer))
    expect(titles).toEqual(titles.toSorted((a, b) => (a.date < b.date ? -1 : 1)))
    expect(titles.at(-1)!.date < now.toISOString()).toBe(true)
  }
})

test('a history is the same each time, and the client reads every part of it', async () => {
  await using sandbox = await start()

  const first = await sendForm(sandbox, historyPath, { vin: 'SAMPLEUS000000001' })
  const second = await sendForm(sandbox, historyPath, { vin: 'sampleus000000001' })
  expect(second).toEqual(first)
  expect(Object.values(checkHistory.read(first.json, defaultWire))).not.toContain(null)
})

test.each([
  [historyPath, 'SAMPLEXX000000000', 404],
  [historyPath, 'SAMPLEGCC00000001', 200],
  [ppsrPath, 'SAMPLEXX000000000', 404],
  [ppsrPath, 'SAMPLEUS000000001', 404],
  [ppsrPath, 'SAMPLEAU000000004', 400],
  [ppsrPath, 'SHORT', 400],
])('%s for %s answers %i', async (path, vin, expected) => {
  await using sandbox = await start()

  expect((await sendForm(sandbox, path, { vin })).status).toBe(expected)
})

test.each([historyPath, ppsrPath])('%s needs a VIN and the key', async (path) => {
  await using sandbox = await start()
  const vin = manyVins[0]!

  const answers = [
    await sendForm(sandbox, path, {}),
    await sendForm(sandbox, path, { vin }, null),
    await sendForm(sandbox, path, { vin }, 'wrong'),
  ]
  expect(answers.map(({ status }) => status)).toEqual([400, 401, 403])
})

test('a PPSR certificate is a PDF link and counts', async () => {
  await using sandbox = await start()

  const { status, json } = await sendForm(sandbox, ppsrPath, { vin: 'SAMPLEAU000000001' })
  const read = searchNewPpsr.read(json, defaultWire)
  const pdf = await fetch(read.pdfUrl!)

  expect(status).toBe(200)
  expect(read).toEqual({
    pdfUrl: expect.stringContaining('/pdf/ppsr/'),
    securityInterests: expect.any(Number),
    writeOffs: expect.any(Number),
    stolen: expect.any(Number),
    searchId: expect.any(String),
  })
  expect(pdf.headers.get('content-type')).toBe('application/pdf')
  expect(await pdf.text()).toMatch(/^%PDF-/)
  sandbox.clock.advance(pdfLinkLifeMs)
  expect((await fetch(read.pdfUrl!)).status).toBe(403)
})

test.each([
  ['SAMPLEAU000000001', ['watching', 'unchanged', 'unchanged', 'expired']],
  ['SAMPLEAU000000003', ['watching', 'unchanged', 'changed', 'changed']],
  ['SAMPLEAU000000006', ['disabled', 'disabled', 'disabled', 'disabled']],
])('the watch of a search on %s goes as that of the appraisal service', async (vin, expected) => {
  await using sandbox = await start()
  const { json } = await sendForm(sandbox, ppsrPath, { vin })
  const statusOn = async (day: number) => {
    sandbox.clock.set(new Date(now.getTime() + day * dayMs))
    return (await get(sandbox, `${ppsrPath}/${json['searchId']}`)).json['watchStatus']
  }

  const statuses = []
  for (const day of [0, 2, 3, 14]) statuses.push(await statusOn(day))
  expect(statuses).toEqual(expected)
})

test('an unknown search is a 404, and so is one of the appraisal service', async () => {
  await using sandbox = await start()
  const subject = { groupId: 'group-1', rooftopUid: 'rooftop-1', evalId: 1001 }
  const { ref } = sandbox.checks.add({
    kind: 'ppsr',
    ...subject,
    vin: manyVins[0]!,
    searchedAt: now,
  })

  const notFound = { status: 404, json: { error: 'Search not found' } }
  expect(await get(sandbox, `${ppsrPath}/unknown`)).toEqual(notFound)
  expect(await get(sandbox, `${ppsrPath}/${ref}`)).toEqual(notFound)
})

test('a search here is not among the past searches of a dealer group', async () => {
  const evaluation = anEvaluation()
  await using sandbox = await start({ world: worldOf({ evaluations: [evaluation] }) })
  await sendForm(sandbox, ppsrPath, { vin: evaluation.vin! })

  expect((await ask(sandbox, '/getpastppsrsearch', { evalid: 1001 })).json).toEqual([])
})

test('names that are not shown follow the wire settings', async () => {
  const wire = wireSettings.parse({
    vehicleData: {
      historyCheck: { vin: 'chassis', clean: 'summary.clean' },
      ppsrSearch: {
        vin: 'chassis',
        searchId: 'search.ref',
        watchPath: '/v1/watch/{searchId}/status',
        watchStatus: 'watch.state',
      },
    },
  })
  await using sandbox = await start({ wire })
  const chassis = 'SAMPLEAU000000001'

  const history = await sendForm(sandbox, historyPath, { chassis })
  const search = await sendForm(sandbox, ppsrPath, { chassis })
  const { ref } = search.json['search'] as { ref: string }
  const watch = await get(sandbox, `/v1/watch/${ref}/status`)

  expect(history.json['summary']).toEqual({ clean: expect.any(Boolean) })
  expect(watch).toEqual({ status: 200, json: { watch: { state: 'watching' } } })
})
