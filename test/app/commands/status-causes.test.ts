import { expect, test } from 'vitest'
import { findCauses, type Status } from '#src/app/commands/status-causes.ts'
import { makeConfig } from '#src/app/config/read.ts'

const naming = { config: makeConfig({}, '/nowhere'), label: (uid: string) => uid }

/** What `status` knows where only these jobs are late. */
function lateJobs(names: readonly string[]): Status {
  const job = { status: 'late', kept: true, error: 'no good run' }
  return {
    ...{ health: { rooftops: {} }, keys: [], names: [], alerts: {}, inboxes: {} },
    jobs: Object.fromEntries(names.map((name) => [name, job])),
    links: { status: 'ok' },
  } as unknown as Status
}

test('the cure of late jobs names the command of each', () => {
  const cures = [['nightly'], ['nightly', 'verify']].map(
    (names) => findCauses(lateJobs(names), naming)[0]!.cure,
  )

  expect(cures).toEqual([
    'Correct the cause; "forecourt run nightly" runs it now.',
    'Correct the cause; "forecourt run nightly" and "forecourt run verify" run them now.',
  ])
})
