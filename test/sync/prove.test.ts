import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ListLimit, type Proof, proveWindow } from '#src/sync/windows/prove.ts'
import type { Window } from '#src/values/window.ts'

type Order = 'newest' | 'oldest' | 'arbitrary'
interface Entry {
  readonly id: number
  readonly second: number
}
interface Asked {
  readonly proof: Proof
  readonly requests: number
}
const nothingKnown: ListLimit = { largest: 0, cap: null }
const listedAt = new Date('2026-03-01T00:00:00Z')

/** Proves a window against a list in memory that is silently cut off at `cap`. */
async function prove(
  entries: readonly Entry[],
  window: Omit<Window, 'open'>,
  options: {
    cap?: number
    order?: Order
    knowledge?: ListLimit
    vouched?: boolean
    maxItems?: number
    /** The source's content from the nth request on. */
    later?: { nth: number; entries: readonly Entry[] }
  } = {},
): Promise<Asked> {
  const { cap = Number.POSITIVE_INFINITY, order = 'newest', later } = options
  let requests = 0
  const list = async ({ from, until }: Window) => {
    requests++
    const held = later && requests >= later.nth ? later.entries : entries
    const within = held.filter(({ second }) => second >= from && second < until)
    return { items: cut(within, cap, order), malformed: [], listedAt }
  }
  const proof = await proveWindow(
    { ...window, open: false },
    {
      list,
      listLimit: options.knowledge ?? nothingKnown,
      isConfirmed: () => options.vouched ?? false,
      maxItems: options.maxItems ?? 1000,
    },
  )
  return { proof, requests }
}

function cut(entries: readonly Entry[], cap: number, order: Order) {
  const rank = { newest: -1, oldest: 1, arbitrary: 0 }[order]
  const mixed = (id: number) => (id * 7919) % 1009
  return entries
    .toSorted((a, b) => rank * (a.second - b.second || a.id - b.id) || mixed(a.id) - mixed(b.id))
    .slice(0, cap)
    .map(({ id }) => ({ id, updatedAt: null }))
}

function entriesAt(seconds: readonly number[]): Entry[] {
  return seconds.map((second, index) => ({ id: index + 1, second }))
}

function idsOf({ parts }: Proof): number[] {
  return parts.flatMap(({ items }) => items.map(({ id }) => id)).sort((a, b) => a - b)
}

test('whatever the cap and its order, all ids are found and the parts tile the window', async () => {
  const seconds = fc.uniqueArray(fc.nat({ max: 999 }), { maxLength: 60 })
  const orders = fc.constantFrom<Order>('newest', 'oldest', 'arbitrary')
  const largest = fc.nat({ max: 40 })
  await fc.assert(
    fc.asyncProperty(
      seconds,
      fc.integer({ min: 2, max: 70 }),
      orders,
      largest,
      async (places, cap, order, seen) => {
        const knowledge = { largest: Math.min(seen, cap), cap: null }

        const { proof } = await prove(
          entriesAt(places),
          { from: 0, until: 1000 },
          { cap, order, knowledge },
        )

        expect(idsOf(proof)).toEqual(places.map((_, index) => index + 1))
        expect(proof.parts[0]!.window.from).toBe(0)
        expect(proof.parts.at(-1)!.window.until).toBe(1000)
        proof.parts.slice(1).forEach(({ window }, index) => {
          expect(window.from).toBe(proof.parts[index]!.window.until)
        })
      },
    ),
    { numRuns: 300 },
  )
})

test('a list without a cap never leads to one, and nothing is unprovable', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 30 }), { maxLength: 80 }), async (places) => {
      const { proof } = await prove(entriesAt(places), { from: 0, until: 31 })

      expect(proof.listLimit).toEqual({ largest: places.length, cap: null })
      expect(proof.parts.filter((part) => part.proof === 'unprovable')).toEqual([])
      expect(idsOf(proof)).toEqual(places.map((_, index) => index + 1))
    }),
  )
})

test('an answer smaller than one that was given before costs one request', async () => {
  const knowledge = { largest: 4, cap: null }

  const { proof, requests } = await prove(
    entriesAt([1, 5, 9]),
    { from: 0, until: 86_400 },
    { knowledge },
  )

  expect(requests).toBe(1)
  expect(proof.parts.map((part) => part.proof)).toEqual(['plain'])
})

test('the largest answer so far is proved by its halves: three requests, one part', async () => {
  const { proof, requests } = await prove(entriesAt([10, 20, 80_000]), { from: 0, until: 86_400 })

  expect(requests).toBe(3)
  expect(proof.parts.map((part) => part.proof)).toEqual(['halved'])
})

test('an answer that an earlier certificate confirms costs no further request', async () => {
  const vouched = true

  const { proof, requests } = await prove(
    entriesAt([10, 20, 80_000]),
    { from: 0, until: 86_400 },
    { vouched },
  )

  expect(requests).toBe(1)
  expect(proof.parts.map((part) => part.proof)).toEqual(['halved'])
})

test('a learned cap invalidates earlier confirmations', async () => {
  const knowledge = { largest: 3, cap: 3 }

  const { proof } = await prove(
    entriesAt([10, 20, 80_000, 80_001]),
    { from: 0, until: 86_400 },
    { vouched: true, cap: 3, knowledge },
  )

  expect(idsOf(proof)).toEqual([1, 2, 3, 4])
})

test('a round count is suspect even after a larger answer', async () => {
  const knowledge = { largest: 700, cap: null }
  const places = Array.from({ length: 130 }, (_, index) => index * 7)

  const { proof } = await prove(
    entriesAt(places),
    { from: 0, until: 1000 },
    { cap: 100, knowledge },
  )

  expect(idsOf(proof)).toHaveLength(130)
})

test('a window that changes during the proof shows no cap', async () => {
  const before = entriesAt([10, 20, 800])
  const later = { nth: 2, entries: [...before, { id: 4, second: 30 }] }

  const { proof } = await prove(before, { from: 0, until: 1000 }, { later })

  expect(proof.listLimit.cap).toBeNull()
  expect(idsOf(proof)).toEqual([1, 2, 3, 4])
})

test('a single second that does not fit under the cap is unprovable, and nothing else is', async () => {
  const places = [100, 500, 500, 500, 500, 500, 900]

  const { proof } = await prove(
    entriesAt(places),
    { from: 0, until: 1000 },
    { cap: 3, order: 'arbitrary' },
  )

  const unprovable = proof.parts.filter((part) => part.proof === 'unprovable')
  expect(unprovable.map(({ window }) => [window.from, window.until])).toEqual([[500, 501]])
  expect(idsOf(proof)).toEqual(expect.arrayContaining([1, 7]))
  expect(proof.listLimit.cap).toBe(3)
})

test('a larger answer than the cap shows that there is none', async () => {
  const knowledge = { largest: 3, cap: 3 }

  const { proof } = await prove(
    entriesAt([1, 200, 400, 600, 800]),
    { from: 0, until: 1000 },
    { knowledge },
  )

  expect(proof.listLimit).toEqual({ largest: 5, cap: null })
})

test('a window with more items than a part may hold is halved into parts that fit', async () => {
  const places = Array.from({ length: 50 }, (_, index) => index * 20)

  const { proof } = await prove(entriesAt(places), { from: 0, until: 1000 }, { maxItems: 10 })

  expect(idsOf(proof)).toHaveLength(50)
  expect(Math.max(...proof.parts.map(({ items }) => items.length))).toBeLessThanOrEqual(10)
})

test('the newest window ends when it was listed', async () => {
  const items = [{ id: 1, updatedAt: null }]
  const list = async () => ({ items, malformed: [], listedAt })
  const from = Math.floor(listedAt.getTime() / 1000) - 60

  const { parts } = await proveWindow(
    { from, until: from + 10, open: true },
    { list, listLimit: nothingKnown, isConfirmed: () => false, maxItems: 1000 },
  )

  expect(parts[0]!.window).toEqual({ from, until: from + 60, open: true })
})
