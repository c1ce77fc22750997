import { expect, test } from 'vitest'
import { FairReadQueue } from '#src/api/sources/fair-read-queue.ts'

const numbers = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => from + index)

/** Reads that wait to be answered, in the order in which they were begun. */
function openSource() {
  const begun: number[] = []
  const waiting: (() => void)[] = []
  return {
    begun,
    read: async (id: number) => {
      begun.push(id)
      await new Promise<void>((resolve) => waiting.push(resolve))
      return id * 10
    },
    /** Answers everything, in waves. */
    async answerAll() {
      await new Promise(setImmediate)
      for (let wave = waiting.splice(0); wave.length > 0; wave = waiting.splice(0)) {
        for (const answer of wave) answer()
        await new Promise(setImmediate)
      }
    },
  }
}

test('slices of a key are read one after the other, and each knows its own results', async () => {
  const order = new FairReadQueue(4)
  const source = openSource()
  const place = { key: 'partner', lane: 'foreground' } as const

  const first = order.readAll(place, numbers(0, 10), source.read)
  const second = order.readAll(place, numbers(100, 10), source.read)
  await source.answerAll()

  expect(source.begun).toEqual([...numbers(0, 10), ...numbers(100, 10)])
  expect(await first).toEqual(numbers(0, 10).map((id) => ({ status: 'fulfilled', value: id * 10 })))
  expect((await second).length).toBe(10)
})

test('another key, and another lane, does not wait', async () => {
  const order = new FairReadQueue(1)
  const source = openSource()

  const all = [
    order.readAll({ key: 'partner', lane: 'background' }, numbers(0, 3), source.read),
    order.readAll({ key: 'partner', lane: 'event' }, numbers(100, 1), source.read),
    order.readAll({ key: 'other', lane: 'background' }, numbers(200, 1), source.read),
  ]
  await new Promise(setImmediate)

  expect(source.begun).toEqual([0, 100, 200])
  await source.answerAll()
  await Promise.all(all)
})

test('a slice of thousands lets the others read in between', async () => {
  const order = new FairReadQueue(100)
  const source = openSource()
  const place = { key: 'partner', lane: 'foreground' } as const

  const huge = order.readAll(place, numbers(0, 2_500), source.read)
  const small = order.readAll(place, numbers(10_000, 5), source.read)
  await source.answerAll()

  expect(source.begun.indexOf(10_000)).toBe(1000)
  expect(source.begun.indexOf(10_004)).toBeLessThan(source.begun.indexOf(1000) + 100)
  expect([(await huge).length, (await small).length]).toEqual([2_500, 5])
})

test('a read that fails is one result among the others', async () => {
  const order = new FairReadQueue(2)
  const read = async (id: number) => {
    if (id === 1) throw new Error('gone')
    return id
  }

  const results = await order.readAll({ key: 'partner', lane: 'foreground' }, [0, 1, 2], read)

  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('a call that waits for its retry frees its slot for the next', async () => {
  const order = new FairReadQueue(1)
  const begun: number[] = []
  const retry = Promise.withResolvers<void>()

  const settled = order.readAll(
    { key: 'partner', lane: 'foreground' },
    [1, 2, 3],
    async (id, whileWaiting) => {
      begun.push(id)
      if (id === 1) await whileWaiting(retry.promise)
      return id
    },
  )
  await new Promise(setImmediate)

  expect(begun).toEqual([1, 2, 3])
  retry.resolve()
  expect((await settled).every(({ status }) => status === 'fulfilled')).toBe(true)
})
