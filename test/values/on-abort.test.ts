import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { onAbort } from '#src/values/on-abort.ts'

test('every callback gets the reason, and a signal has one listener for all', () => {
  const stop = new AbortController()
  const told: unknown[] = []
  onAbort([stop.signal], (reason) => told.push(['first', reason]))
  onAbort([undefined, stop.signal], (reason) => told.push(['second', reason]))

  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1)
  stop.abort('enough')

  expect(told).toEqual([
    ['first', 'enough'],
    ['second', 'enough'],
  ])
})

test('a removed callback is not called, and the listener goes with the last one', () => {
  const stop = new AbortController()
  const told: string[] = []
  const leaveFirst = onAbort([stop.signal], () => told.push('first'))
  const leaveSecond = onAbort([stop.signal], () => told.push('second'))

  leaveFirst()
  leaveFirst()
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1)
  leaveSecond()

  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
  stop.abort()
  expect(told).toEqual([])
})

test('each of several signals calls the callback, and removing it removes it from all', () => {
  const [one, other] = [new AbortController(), new AbortController()]
  const told: unknown[] = []
  const leave = onAbort([one.signal, other.signal], (reason) => told.push(reason))

  other.abort('other')
  expect(told).toEqual(['other'])
  leave()
  one.abort('one')

  expect(told).toEqual(['other'])
  expect(getEventListeners(one.signal, 'abort')).toHaveLength(0)
})

test('a callback that is removed during the calls does not affect the others', () => {
  const stop = new AbortController()
  const told: string[] = []
  const leave = onAbort([stop.signal], () => {
    told.push('first')
    leave()
  })
  onAbort([stop.signal], () => told.push('second'))

  stop.abort()

  expect(told).toEqual(['first', 'second'])
})
