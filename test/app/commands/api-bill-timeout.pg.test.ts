import { expect, test } from 'vitest'
import { searchPpsr } from '#src/api/contract/appraisal/checks.ts'
import type { Effect } from '#src/api/contract/operation.ts'
import { DeadlineExceeded } from '#src/api/sources/http-exchange.ts'
import { openServices } from '#src/api/sources/open-services.ts'
import { pay } from '#src/app/billing/pay.ts'
import { Session } from '#src/app/commands/session.ts'
import { SyncError } from '#src/errors.ts'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { CapturedOutput } from '../../support/cli.ts'
import { type BillingFixture, openBillingFixture } from './api-bill-fixture.ts'

/** Pays for a search whose answer never comes, until our time-out. */
async function payUntilTimeout({ cwd }: BillingFixture, signal: AbortSignal): Promise<unknown> {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()]
  const io = { environment: { variables: {}, cwd }, signal, stdout, stderr }
  await using session = new Session(io, {})
  const { config, log } = session
  await using services = openServices<Effect>(config, log, ['read', 'write', 'bill'])
  const { pool, db } = await session.warehouse('write')
  const [rooftop] = await registerRooftops(db, config.rooftops)
  return await pay(
    { config, log, signal, client: services.client, pool, db, requestedBy: 'tester@here' },
    { operation: searchPpsr, rooftop: rooftop!, naturalKey: '1001', again: false },
    () => {
      const cause = new DeadlineExceeded(120_000)
      throw new SyncError('abort', `POST /ppsrsearch failed: ${cause.message}.`, { cause })
    },
  )
}

test('a search that outlasts our time-out is not reported as unbilled soon after', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  const interruption = new AbortController()
  const reads = () => fixture.sandbox.requests.count('/getpastppsrsearch')

  const ended = payUntilTimeout(fixture, interruption.signal).catch((error: Error) => error)
  await expect.poll(reads).toBe(2)
  // Enough for a call that was cut off.
  await fixture.pass(5 * 60_000)
  await expect.poll(reads).toBe(4)
  interruption.abort(new Error('Interrupted.'))

  expect(await ended).toMatchObject({
    message: expect.stringContaining('It may have been billed: it stays reserved'),
  })
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'reserved', null]])
})
