import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { samples } from '#src/sandbox/samples.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { aKey, aRooftop, aUser, worldOf } from '../../support/build-world.ts'
import { runInProcess } from '../../support/cli.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

// An evaluation from creation to the nightly load over HTTP, only by `forecourt api`; the README shows the same steps.

const dayMs = 86_400_000
const places = {
  AU: { timezone: 'Australia/Sydney', currency: 'AUD', dealerId: 101 },
  US: { timezone: 'America/Chicago', currency: 'USD', dealerId: 102 },
  GCC: { timezone: 'Asia/Dubai', currency: 'AED', dealerId: 103 },
} as const
type Region = keyof typeof places
const regions = ['AU', 'US', 'GCC'] as const

/** One rooftop, one salesperson and one partner key per region, and no evaluation. */
function emptyWorld() {
  return worldOf({
    rooftops: regions.map((region) =>
      aRooftop({ uid: region, groupId: `group-${region}`, region, ...places[region] }),
    ),
    users: regions.map((region, index) =>
      aUser({
        userId: index + 1,
        groupId: `group-${region}`,
        rooftopUid: region,
        email: `sales@${region.toLowerCase()}.example`,
      }),
    ),
    keys: regions.map((region, index) =>
      aKey({
        name: region,
        value: `key-${region}`,
        region,
        rooftopUids: [region],
        linkedUserId: index + 1,
      }),
    ),
  })
}

/** The deliveries of a webhook, as received. */
async function openReceiver() {
  const received: { readonly auth: unknown; readonly body: Record<string, unknown> }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    received.push({
      auth: request.headers['x-forecourt-token'],
      body: JSON.parse(Buffer.concat(chunks).toString()),
    })
    response.end('ok')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const close = () => new Promise<void>((done) => void server.close(() => done()))
  return { url, received, [Symbol.asyncDispose]: close }
}

/** The parts of the answers that the test reads. */
interface Reply {
  readonly EvalID: number
  readonly VechielDescriptions: readonly { readonly Description: string }[]
  readonly descriptionOptions: readonly { readonly code: string; readonly codeType: string }[]
  readonly CarPics: readonly { readonly ID: string }[]
  readonly Photos: readonly { readonly hero: boolean }[]
  readonly CompletedAt: string
  readonly WatchStatus: string
  readonly PdfUrl: string
}

/** Runs `forecourt api …` of one rooftop, which must succeed, and gives the JSON. */
function apiOf(cwd: string, region: Region) {
  return async (operation: string, ...flags: readonly string[]): Promise<Reply> => {
    const { code, stdout, stderr } = await runInProcess(
      ['--quiet', 'api', operation, '--rooftop', region, ...flags],
      { cwd },
    )
    expect({ operation, code, stderr }).toEqual({ operation, code: 0, stderr: '' })
    return JSON.parse(stdout)
  }
}

/** Chooses a style of an ambiguous VIN as the region does it, and gives the EvalID. */
async function beginEvaluation(region: Region, api: ReturnType<typeof apiOf>): Promise<string> {
  const { vin } = samples[`${region.toLowerCase() as 'au'}Ambiguous`]
  const begun = await api('entervin', '--vin', vin, '--yes')
  if (region === 'AU') {
    const [choice] = begun as unknown as readonly Reply[]
    expect(choice!.EvalID).toBeUndefined()
    const desc = choice!.VechielDescriptions[1]!.Description
    const made = await api('manualcarentry', '--vin', vin, '--desc', desc, '--yes')
    return String(made.EvalID)
  }
  expect(begun).toMatchObject({ VIN: vin, descriptionSelect: true, EvalID: expect.any(Number) })
  const { code, codeType } = begun.descriptionOptions[1]!
  const evalid = String(begun.EvalID)
  const style = ['--evalid', evalid, '--code', code, '--codeType', codeType]
  const made = await api('manualcarentry', ...style, '--yes')
  expect(String(made.EvalID)).toBe(evalid)
  return evalid
}

/** Three photos, put in another order, the last one pinned. */
async function photograph(folder: string, evalid: string, api: ReturnType<typeof apiOf>) {
  const ids: string[] = []
  for (const colour of ['red', 'green', 'blue']) {
    const file = join(folder, `${colour}.jpg`)
    await sharp({ create: { width: 32, height: 24, channels: 3, background: colour } }).toFile(file)
    const { CarPics } = await api('imageupload', '--evalid', evalid, '--file', file, '--yes')
    ids.push(CarPics.at(-1)!.ID)
  }
  const order = [ids[2], ids[0], ids[1]].join(',')
  await api('imageorder', '--evalid', evalid, '--ids', order, '--yes')
  return await api('imagehero', '--evalid', evalid, '--imgid', ids[1]!, '--yes')
}

/** Polls the watch day by day until it has changed, and opens the certificate. */
async function watchToTheEnd(sandbox: Sandbox, evalid: string, api: ReturnType<typeof apiOf>) {
  await api('ppsrsearch', '--evalid', evalid, '--yes')
  const seen: string[] = []
  for (let day = 0; day < 5 && seen.at(-1) !== 'changed'; day++) {
    seen.push((await api('ppsrwatch', '--evalid', evalid)).WatchStatus)
    sandbox.clock.advance(dayMs)
  }
  const [past] = (await api('getpastppsrsearch', '--evalid', evalid)) as unknown as readonly Reply[]
  const pdf = await fetch(past!.PdfUrl)
  const opened = { status: pdf.status, type: pdf.headers.get('content-type') }
  const start = (await pdf.text()).slice(0, 5)
  sandbox.clock.advance(8 * dayMs)
  return { seen, opened, start, later: (await fetch(past!.PdfUrl)).status }
}

test('an evaluation is created and completed by forecourt api, then the nightly run loads it', async () => {
  const clock = new VirtualClock({ start: new Date('2026-03-02T01:00:00Z'), frozen: true })
  await using sandbox = await startSandbox({ world: emptyWorld(), clock })
  await using database = await createTestDatabase()
  await using folder = await temporaryFolder()
  await using receiver = await openReceiver()
  const config = {
    ...sandbox.clientConfig(),
    warehouse: { url: database.url },
    sync: { start: '2026-03-01' },
    budget: { ppsrSearch: 1 },
  }
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))

  const made = new Map<Region, string>()
  for (const region of regions) {
    const api = apiOf(folder.path, region)
    const auth = ['--auth_header_name', 'X-Forecourt-Token', '--auth_header_value', 'let-me-in']
    const event = ['--type', 'eval', '--trigger_event', 'ON_COMPLETE', '--webhook', receiver.url]
    await api('webhooks-create', ...event, ...auth, '--yes')
    const evalid = await beginEvaluation(region, api)
    made.set(region, evalid)
    const { Photos } = await photograph(folder.path, evalid, api)
    expect(Photos.map(({ hero }) => hero)).toEqual([false, false, true])

    const person = ['--cName', 'Pat Example', '--cState', 'NSW', '--condition', '7']
    const completed = await api(
      ...(['dcupdateeval', '--evalid', evalid, '--km', '48000', '--price', '23500'] as const),
      ...[...person, '--recondetail', '150', '--recontyres', '2', '--yes'],
    )
    expect(completed).toMatchObject({ EvalID: Number(evalid), FinalPrice: 23_500 })
    expect(completed.CompletedAt).toBe('2026-03-02T01:00:00.000Z')

    await expect.poll(() => receiver.received.length).toBe(made.size)
    const { auth: sent, body } = receiver.received.at(-1)!
    const [read] = (await api('geteval', '--evalid', evalid)) as unknown as readonly Reply[]
    expect(sent).toBe('let-me-in')
    expect(body).toEqual(read)
    expect(read).toMatchObject({ EvalID: Number(evalid), Reconditioning: expect.any(Number) })
    const pricing = await api('pricingAi', '--evalid', evalid)
    expect(pricing).toMatchObject({
      evalId: Number(evalid),
      prices: { retail: expect.any(Number) },
    })
  }
  const watched = await watchToTheEnd(sandbox, made.get('AU')!, apiOf(folder.path, 'AU'))
  expect(watched.seen.at(-1)).toBe('changed')
  expect(watched).toMatchObject({
    opened: { status: 200, type: 'application/pdf' },
    start: '%PDF-',
    later: 403,
  })

  const synced = await runInProcess(['--quiet', 'sync'], { cwd: folder.path })
  expect(synced.code).toBe(0)
  const { rows } = await database.pool.query(
    `select e.eval_id::int, e.final_price::int, e.odometer, e.photo_count, e.hero_source, c.customer_name
     from core.evaluation e join pii.evaluation_customer c using (rooftop_id, eval_id) order by eval_id`,
  )
  const expected = [...made.values()].map(Number).sort((a, b) => a - b)
  expect(rows).toEqual(
    expected.map((evalId) => ({
      eval_id: evalId,
      final_price: 23_500,
      odometer: 48_000,
      photo_count: 3,
      hero_source: 'manual',
      customer_name: 'Pat Example',
    })),
  )
  const { rows: bills } = await database.pool.query(
    'select operation, natural_key, state, http_status from ops.billable_call',
  )
  expect(bills).toEqual([
    { operation: 'ppsrsearch', natural_key: made.get('AU'), state: 'committed', http_status: 200 },
  ])
})
