import { expect, test } from 'vitest'
import { RefusalLimiter } from '#src/values/refusal-limiter.ts'

function openRefusals() {
  let now = 0
  const refusals = new RefusalLimiter(() => now)
  return {
    refusals,
    pass: (ms: number) => {
      now += ms
    },
    answered: (addresses: readonly string[]) =>
      addresses.filter((address) => refusals.shouldAnswer(address)).length,
  }
}

const same = (count: number, address = 'a') => Array.from({ length: count }, () => address)
const different = (count: number) => Array.from({ length: count }, (_, index) => `b-${index}`)

test('one address is answered 30 times a minute, and 20 times a second', () => {
  const { answered, pass } = openRefusals()

  const counts = [answered(same(50))]
  pass(1000)
  counts.push(answered(same(50)))
  pass(1000)
  counts.push(answered(same(50)), answered(same(1, 'another')))
  pass(60_000)
  counts.push(answered(same(5)))

  // Of the first 50, those beyond 20 count for the address too.
  expect(counts).toEqual([20, 0, 0, 1, 5])
})

test('however many addresses there are, 20 calls a second are answered', () => {
  const { answered, pass } = openRefusals()

  const first = answered(different(20_000))
  pass(1000)
  const known = answered(different(100))
  const beyond = answered(same(5, 'one that is not counted apart'))

  expect([first, known, beyond]).toEqual([20, 20, 0])
})

test('a line of the log counts the refusals of ten seconds', () => {
  const { refusals, answered, pass } = openRefusals()

  answered(same(1))
  const lines = [refusals.takeLogCount()]
  answered(different(500))
  lines.push(refusals.takeLogCount())
  pass(10_000)
  lines.push(refusals.takeLogCount(), refusals.takeLogCount())

  expect(lines).toEqual([1, 0, 500, 0])
})
