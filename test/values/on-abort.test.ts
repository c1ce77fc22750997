import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { onAbort } from '#src/values/on-abort.ts'

test('every callback gets the reason, and a signal has one listener for all', () => {
  const stop = new AbortController()
  const calls: unknown[] = []
  onAbort([stop.signal], (reason) => calls.push(['first', reason]))
  onAbort([undefined, stop.signal], (reason) => calls.push(['second', reason]))

  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1)
  stop.abort('enough')

  expect(calls).toEqual([
    ['first', 'enough'],
    ['second', 'enough'],
  ])
})

test('a removed callback is not called, and the listener goes with the last one', () => {
  const stop = new AbortController()
  const calls: string[] = []
  const removeFirst = onAbort([stop.signal], () => calls.push('first'))
  const removeSecond = onAbort([stop.signal], () => calls.push('second'))

  removeFirst()
  removeFirst()
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1)
  removeSecond()

  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
  stop.abort()
  expect(calls).toEqual([])
})

test('each of several signals calls the callback, and removing it removes it from all', () => {
  const [one, other] = [new AbortController(), new AbortController()]
  const calls: unknown[] = []
  const remove = onAbort([one.signal, other.signal], (reason) => calls.push(reason))

  other.abort('other')
  expect(calls).toEqual(['other'])
  remove()
  one.abort('one')

  expect(calls).toEqual(['other'])
  expect(getEventListeners(one.signal, 'abort')).toHaveLength(0)
})

test('a callback that is removed during the calls does not affect the others', () => {
  const stop = new AbortController()
  const calls: string[] = []
  const remove = onAbort([stop.signal], () => {
    calls.push('first')
    remove()
  })
  onAbort([stop.signal], () => calls.push('second'))

  stop.abort()

  expect(calls).toEqual(['first', 'second'])
})
