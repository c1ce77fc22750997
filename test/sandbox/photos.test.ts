import sharp from 'sharp'
import { expect, test } from 'vitest'
import { startSandbox } from '#src/sandbox/server.ts'
import type { StoredPhoto } from '#src/sandbox/world-types.ts'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { ask } from './ask.ts'

type PhotoDraft = Partial<StoredPhoto> & { readonly id: number }
const at = (second: number) => new Date(Date.UTC(2026, 2, 2, 1, 0, second))

function startWith(photos: readonly PhotoDraft[]) {
  const evaluations = [anEvaluation({ photos }), anEvaluation({ evalId: 4 })]
  return startSandbox({ world: worldOf({ evaluations }) })
}

async function photoIds(sandbox: Awaited<ReturnType<typeof startWith>>, evalid = 1001) {
  const { json } = await ask(sandbox, '/imagelist', { evalid })
  return (json as { Photos: { id: number }[] }).Photos.map(({ id }) => id)
}

test.each<[string, PhotoDraft[], number[]]>([
  [
    'order, not id',
    [
      { id: 1, order: 3 },
      { id: 2, order: 1 },
    ],
    [2, 1],
  ],
  [
    'upload time, then id, on equal order',
    [
      { id: 3, order: 1, uploadedAt: at(9) },
      { id: 2, order: 1, uploadedAt: at(9) },
      { id: 1, order: 1, uploadedAt: at(30) },
    ],
    [2, 3, 1],
  ],
  [
    'timestamp, else upload time, without order',
    [
      { id: 1, uploadedAt: at(20) },
      { id: 2, uploadedAt: at(50), takenAt: at(10) },
      { id: 3, order: 8, uploadedAt: at(55) },
    ],
    [3, 2, 1],
  ],
])('photos are sorted by %s', async (_name, photos, expected) => {
  await using sandbox = await startWith(photos)

  expect(await photoIds(sandbox)).toEqual(expected)
})

test('uploads at the same time all arrive, with ids that are unique over the service', async () => {
  await using sandbox = await startWith([])
  const picture = { width: 60, height: 40, channels: 3, background: 'teal' } as const
  const jpeg = Uint8Array.from(await sharp({ create: picture }).jpeg().toBuffer())
  const upload = (evalid: string) => {
    const body = new FormData()
    body.append('evalid', evalid)
    body.append('file', new Blob([jpeg]))
    const headers = { authorization: 'partner-au', 'x-dealer-id': 'rooftop-1' }
    return fetch(`${sandbox.baseUrl}/imageupload`, { method: 'POST', headers, body })
  }

  await Promise.all(['1001', '1001', '1001', '4', '4'].map(upload))

  const ids = [...(await photoIds(sandbox)), ...(await photoIds(sandbox, 4))]
  expect(new Set(ids).size).toBe(5)
})
