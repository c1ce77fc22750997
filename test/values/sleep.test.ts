import { expect, test } from 'vitest'
import { sleep } from '#src/values/sleep.ts'

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

test('an abort ends the wait at once with its reason and leaves no timer', async () => {
  const before = timers()
  const controller = new AbortController()
  const waiting = sleep(60_000, [undefined, controller.signal])
  const reason = new Error('enough')

  controller.abort(reason)

  await expect(waiting).rejects.toBe(reason)
  expect(timers()).toBeLessThanOrEqual(before)
})

test('a signal that is already aborted never starts the wait', async () => {
  await expect(sleep(60_000, [AbortSignal.abort(new Error('before'))])).rejects.toThrow('before')
})
