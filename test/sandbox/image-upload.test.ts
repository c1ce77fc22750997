import sharp from 'sharp'
import { expect, test } from 'vitest'
import { uploadImage } from '#src/contract/appraisal/photos.ts'
import { anEvaluation, aRooftop, type EvaluationDraft, worldOf } from '../support/build-world.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import type { SandboxLimits } from '#src/sandbox/limits.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { photoLinkLifeMs } from '#src/sandbox/signed-link.ts'
import { defaultWire } from '#src/values/wire.ts'
import { type AskAs, ask } from './ask.ts'

const now = new Date('2026-03-10T00:00:00Z')
const picture = { width: 60, height: 40, channels: 3, background: 'teal' } as const
const jpeg = await sharp({ create: picture }).jpeg().toBuffer()
const png = await sharp({ create: picture }).png().toBuffer()

function start(draft: EvaluationDraft = {}, limits: Partial<SandboxLimits> = {}) {
  const rooftops = [aRooftop(), aRooftop({ uid: 'rooftop-2', groupId: 'group-2' })]
  const evaluations = [
    anEvaluation({ completedAt: null, ...draft }),
    anEvaluation({ evalId: 2, rooftopUid: 'rooftop-2' }),
    anEvaluation({ evalId: 3, vanishedAt: '2026-03-09T00:00:00Z' }),
    anEvaluation({ evalId: 4 }),
  ]
  const world = worldOf({ rooftops, evaluations })
  return startSandbox({ world, limits, clock: new VirtualClock({ start: now, frozen: true }) })
}

interface Row {
  readonly ID: string
  readonly URL: string
  readonly hero: boolean
  readonly heroSource: string | null
}

/** Sends a multipart form; a Buffer is a file. */
async function upload(
  sandbox: Sandbox,
  fields: Readonly<Record<string, string | Buffer | Buffer[]>>,
  { key = 'partner-au', rooftop = 'rooftop-1' }: AskAs = {},
) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') form.append(name, value)
    else for (const file of [value].flat()) form.append(name, new Blob([Uint8Array.from(file)]))
  }
  const response = await fetch(`${sandbox.baseUrl}/imageupload`, {
    method: 'POST',
    headers: { authorization: key ?? '', 'x-dealer-id': rooftop ?? '' },
    body: form,
  })
  const json = (await response.json()) as { CarPics: Row[]; error?: string }
  return { status: response.status, json, rows: json.CarPics }
}

async function photoIds(sandbox: Sandbox, evalid = 1001): Promise<number[]> {
  const { json } = await ask(sandbox, '/imagelist', { evalid })
  return (json as { Photos: { id: number }[] }).Photos.map(({ id }) => id)
}

test('an upload answers 201 with every photo as the contract reads it, and its link leads to the bytes', async () => {
  await using sandbox = await start({ photos: [{ id: 7, order: 1 }] })

  const { status, json, rows } = await upload(sandbox, { evalid: '1001', file: jpeg })
  const image = await fetch(rows[1]!.URL)

  expect(status).toBe(201)
  expect(uploadImage.read(json, defaultWire).CarPics).toHaveLength(2)
  expect(rows[0]).toMatchObject({ ID: '7', hero: true, heroSource: 'default' })
  expect(image.headers.get('content-type')).toBe('image/jpeg')
  expect(Buffer.from(await image.arrayBuffer())).toEqual(jpeg)
})

test('the type is the real one, and the link of an upload expires as every photo link does', async () => {
  await using sandbox = await start()
  const { rows } = await upload(sandbox, { evalid: '1001', file: png })
  const { URL: url } = rows[0]!

  expect((await fetch(url)).headers.get('content-type')).toBe('image/png')
  expect((await fetch(url.replace(/signature=.*/, 'signature=0'))).status).toBe(403)
  sandbox.clock.advance(photoLinkLifeMs)
  expect((await fetch(url)).status).toBe(403)
})

test('photos are sorted by order, else by timestamp under either name, else by upload time', async () => {
  await using sandbox = await start()
  const send = async (fields: Record<string, string>) => {
    const before = await photoIds(sandbox)
    sandbox.clock.advance(1000)
    await upload(sandbox, { evalid: '1001', file: jpeg, ...fields })
    return (await photoIds(sandbox)).find((id) => !before.includes(id))!
  }
  const atTen = now.getTime() / 1000 - 50

  const byUpload = await send({})
  const later = await send({ timestamp: String(atTen + 20) })
  const earlier = await send({ timeStamp: String(atTen) })
  const second = await send({ order: '2' })
  const first = await send({ order: '1' })
  const alsoSecond = await send({ order: '2' })

  expect(await photoIds(sandbox)).toEqual([first, second, alsoSecond, earlier, later, byUpload])
})

test('hero and its alias move the one pin, which later uploads leave alone', async () => {
  await using sandbox = await start({ photos: [{ id: 7, pinned: true }] })
  const heroes = (rows: Row[]) => rows.filter(({ hero }) => hero).map((row) => row.heroSource)

  const pinned = await upload(sandbox, { evalid: '1001', file: jpeg, hero: '1' })
  const alias = await upload(sandbox, { evalid: '1001', file: jpeg, firstPic: '1' })
  const plain = await upload(sandbox, { evalid: '1001', file: jpeg, hero: '0', order: '1' })

  expect(heroes(pinned.rows)).toEqual(['manual'])
  expect(pinned.rows.at(-1)!.hero).toBe(true)
  expect(heroes(alias.rows)).toEqual(['manual'])
  expect(alias.rows.at(-1)!.hero).toBe(true)
  expect(plain.rows.find(({ hero }) => hero)!.ID).toBe(alias.rows.at(-1)!.ID)
})

test('several files are stored in one call without order and hero', async () => {
  await using sandbox = await start()

  const { status, rows } = await upload(sandbox, { evalid: '1001', file: [jpeg, png] })

  expect(status).toBe(201)
  expect(await Promise.all(rows.map(async ({ URL: url }) => typeOf(await fetch(url))))).toEqual([
    'image/jpeg',
    'image/png',
  ])
})

function typeOf({ headers }: Response): string | null {
  return headers.get('content-type')
}

test.each<[string, Record<string, string | Buffer | Buffer[]>]>([
  ['no evalid', { file: jpeg }],
  ['an evalid that is no number', { evalid: 'x', file: jpeg }],
  ['an unknown evaluation', { evalid: '99', file: jpeg }],
  ['an evaluation of another group', { evalid: '2', file: jpeg }],
  ['an evaluation that has vanished', { evalid: '3', file: jpeg }],
  ['no file', { evalid: '1001' }],
  ['a file under another name', { evalid: '1001', image: jpeg }],
  ['a zero-byte file', { evalid: '1001', file: Buffer.alloc(0) }],
  ['a file that is no image', { evalid: '1001', file: Buffer.from('not an image') }],
  ['a drawing', { evalid: '1001', file: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>') }],
  ['a JPEG that is cut off', { evalid: '1001', file: jpeg.subarray(0, jpeg.length - 30) }],
  ['a PNG that is cut off', { evalid: '1001', file: png.subarray(0, png.length / 2) }],
  ['a good and a bad file', { evalid: '1001', file: [jpeg, Buffer.from('bad')] }],
  ['order with several files', { evalid: '1001', file: [jpeg, png], order: '1' }],
  ['hero with several files', { evalid: '1001', file: [jpeg, png], hero: '1' }],
  ['firstPic with several files', { evalid: '1001', file: [jpeg, png], firstPic: '0' }],
  ['an order below 1', { evalid: '1001', file: jpeg, order: '0' }],
  ['a timestamp beyond all dates', { evalid: '1001', file: jpeg, timestamp: '9000000000000000' }],
])('an upload with %s is a 400 that stores nothing', async (_name, fields) => {
  await using sandbox = await start()

  const { status, json } = await upload(sandbox, fields)

  expect(status).toBe(400)
  expect(json).toEqual({ error: expect.any(String) })
  expect(await photoIds(sandbox)).toEqual([])
})

test('a body that is no form is a 400', async () => {
  await using sandbox = await start()

  expect((await ask(sandbox, '/imageupload', { evalid: 1001 })).status).toBe(400)
})

test.each<[string, AskAs]>([
  ['a wrong key', { key: 'wrong' }],
  ['a rooftop of another key', { rooftop: 'unknown' }],
])('an upload with %s is a 403', async (_name, as) => {
  await using sandbox = await start()

  expect((await upload(sandbox, { evalid: '1001', file: jpeg }, as)).status).toBe(403)
})

test('when the room for images is used up, the answer is a 500 and nothing is stored', async () => {
  await using sandbox = await start({}, { imageBytes: jpeg.length + 10 })
  await upload(sandbox, { evalid: '1001', file: jpeg })

  const { status, json } = await upload(sandbox, { evalid: '1001', file: jpeg })

  expect(status).toBe(500)
  expect(json.error).toContain('could not be stored')
  expect(await photoIds(sandbox)).toHaveLength(1)
})

test('uploads at the same time all arrive, with ids that are unique over the service', async () => {
  await using sandbox = await start()
  const evalids = ['1001', '1001', '1001', '4', '4']

  await Promise.all(evalids.map((evalid) => upload(sandbox, { evalid, file: jpeg })))

  const ids = [...(await photoIds(sandbox)), ...(await photoIds(sandbox, 4))]
  expect(new Set(ids).size).toBe(5)
})
