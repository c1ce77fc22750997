import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { listOf, vehicles } from '../../stock/import-fixture.ts'
import { type ConsoleFixture, type Role, serveConsole } from './console-fixture.ts'
import { openUploads, type UploadFixture, uploadForm } from './upload-fixture.ts'

let console: UploadFixture
const slow: http.ClientRequest[] = []

beforeAll(async () => {
  console = await openUploads({ uploadMegabytes: 1 })
})
afterAll(async () => await console?.[Symbol.asyncDispose]())
beforeEach(async () => await console.clear())
afterEach(async () => {
  for (const request of slow.splice(0)) request.destroy()
  // Until the server has seen it.
  await sleep(200)
})

const head = Buffer.from(
  '--b\r\ncontent-disposition: form-data; name="action"\r\n\r\nupload\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nStock,',
)

/** Begins an upload whose rest does not come. Its status; null: no answer within some seconds. */
async function begin(
  role: Exclude<Role, null>,
  { url, cookie }: Pick<ConsoleFixture, 'url' | 'cookie'> = console,
): Promise<{ readonly request: http.ClientRequest; readonly status: Promise<number | 'cut'> }> {
  const request = http.request(`${url}/console/stock/upload`, {
    method: 'POST',
    agent: false,
    headers: {
      ...{ cookie: await cookie(role), 'sec-fetch-site': 'same-origin' },
      ...{ 'content-type': 'multipart/form-data; boundary=b', 'content-length': 500_000 },
    },
  })
  slow.push(request)
  const status = new Promise<number | 'cut'>((resolve) => {
    request
      .on('response', ({ statusCode }) => resolve(statusCode!))
      .on('error', () => resolve('cut'))
  })
  request.write(head)
  return { request, status }
}

const answered = async ({ status }: Awaited<ReturnType<typeof begin>>) =>
  await Promise.race([status, sleep(3_000, null)])

test('whoever may not upload is refused before the list is read', async () => {
  const statuses = []
  for (let count = 0; count < 8; count++) statuses.push(await answered(await begin('viewer')))
  const mine = await console.upload(listOf(vehicles(3)))

  expect(statuses).toEqual(Array(8).fill(403))
  expect(mine.status).toBe(303)
  expect(
    await console.rows(
      `select distinct action, outcome from ops.console_action where email = 'vic@example.com'`,
    ),
  ).toEqual([{ action: 'upload', outcome: 'refused' }])
}, 60_000)

test('four slow uploads of one person lock out no one else', {
  tags: 'ci',
  timeout: 60_000,
}, async () => {
  const { rooftops } = console.config
  const [first, last] = [rooftops[0]!, rooftops.at(-1)!]
  // A colleague of the same rooftop, and a person of another group.
  await using served = await serveConsole(console.fixture, {
    ...{ uploadMegabytes: 1 },
    people: [
      { email: 'sam@example.com', role: 'stock', rooftops: [first.uid] },
      { email: 'vic@example.com', role: 'stock', rooftops: [first.uid] },
      { email: 'gus@example.com', role: 'stock', groups: [last.group] },
      { email: 'kim@example.com', role: 'engineer' },
    ],
  })
  const upload = async (role: Exclude<Role, null>, rooftop: string) => {
    const form = uploadForm(listOf(vehicles(3)), 'a.csv', { mode: 'snapshot', rooftop })
    return (await served.post('/stock/upload', form, { role })).status
  }
  const ofOne = []
  for (let count = 0; count < 4; count++) ofOne.push(await begin('stock', served))

  const statuses = await Promise.all(ofOne.map(answered))
  const others = [
    await upload('viewer', first.uid),
    await upload('group', last.uid),
    await upload('engineer', last.uid),
  ]

  expect(statuses.filter((status) => status === 409)).toHaveLength(2)
  expect(statuses.filter((status) => status === null)).toHaveLength(2)
  expect(others).toEqual([303, 303, 303])

  // Two colleagues fill the limit of their group alone.
  const ofGroup = [await begin('viewer', served), await begin('viewer', served)]
  expect((await Promise.all(ofGroup.map(answered))).toSorted()).toEqual([409, null])
  expect([await upload('group', last.uid), await upload('engineer', first.uid)]).toEqual([303, 303])
  for (const request of slow) request.destroy()
})

test('a list that arrives too slowly is ended, and its place is free', {
  tags: 'ci',
  timeout: 60_000,
}, async () => {
  const rate = { bodyRate: { bytes: 1_000, everyMs: 500 } }
  await using served = await serveConsole(console.fixture, { uploadMegabytes: 1 }, rate)
  const stopped = await begin('stock', served)
  const dripping = await begin('stock', served)
  const arriving = await begin('engineer', served)
  const drip = setInterval(() => dripping.request.write('1'), 20)
  const arrive = setInterval(() => arriving.request.write('1'.repeat(1_000)), 20)

  const ended = await Promise.all([stopped.status, dripping.status])
  const open = await Promise.race([arriving.status, sleep(1_500, null)])
  clearInterval(drip)
  clearInterval(arrive)
  const form = uploadForm(listOf(vehicles(3)), 'a.csv', {
    mode: 'snapshot',
    rooftop: console.own,
  })
  const next = await served.post('/stock/upload', form, { role: 'stock' })

  expect(ended).toEqual(['cut', 'cut'])
  expect(open).toBe(null)
  expect(next.status).toBe(303)
})
