import { expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { readStatus } from '#src/pipeline/status.ts'
import { findRooftops } from '#src/pipeline/rooftops.ts'
import { check, checkedHouse, checkRows, paths } from '../../support/checked.ts'
import type { House } from '../../support/nights.ts'
import { rowsOf } from '../../support/priced.ts'

/** The next answer at the path is this one. */
function answerOnce({ sandbox }: House, path: string, body: unknown) {
  sandbox.faults.add({ match: { path }, times: 1, fault: { kind: 'status', status: 200, body } })
}

const aside = (house: House) =>
  rowsOf<{ key: string }>(
    house,
    'select natural_key as key from ops.quarantine where resolved_at is null order by 1',
  )

const shapes: [string, unknown][] = [
  ['an object instead of a list', { WatchStatus: 'changed' }],
  ['a list of texts', ['changed']],
  ['null', 'null'],
  ['a number', '7'],
  ['an error', { error: 'try again later' }],
]

test.each(shapes)(
  'a listing that answers %s does not count as read: the next run asks again, whatever its age',
  async (_, body) => {
    await using house = await checkedHouse([{}], { checks: { lookForNewDays: 1 } })
    check(house, -1)
    answerOnce(house, paths.ppsr, body)

    const report = await house.night()

    expect(report.status).toBe('partial')
    expect(report.streams['vehicle-checks']).toMatchObject({ quarantined: 1 })
    expect(await aside(house)).toEqual([{ key: '1001/getpastppsrsearch' }])
    expect(await house.nightAfter(3)).toMatchObject({ status: 'ok' })
    expect(await checkRows(house)).toHaveLength(1)
    expect(await aside(house)).toEqual([])
  },
)

test('a listing that is due with an unreadable watch tells it too, and both are read again in the next run', async () => {
  await using house = await checkedHouse([{}])
  check(house, -1)
  await house.night()
  house.sandbox.clock.advance(20 * 3_600_000)
  answerOnce(house, paths.watch, { Checks: [] })
  answerOnce(house, paths.ppsr, { Checks: [] })

  await house.nightAfter(1 / 6)
  const listed = await aside(house)
  house.sandbox.clock.advance(60_000)
  const report = await house.night()

  expect(listed.length).toBeGreaterThan(0)
  expect(report.status).toBe('ok')
  expect(await aside(house)).toEqual([])
})

test('what stays unreadable keeps every run partial, and is seen in the status', async () => {
  await using house = await checkedHouse([{}])
  house.sandbox.faults.add({
    match: { path: paths.history },
    fault: { kind: 'status', status: 200, body: {} },
  })

  const reports = [await house.night(), await house.nightAfter(1), await house.nightAfter(1)]

  expect(reports.map(({ status }) => status)).toEqual(['partial', 'partial', 'partial'])
  const attempts = await rowsOf(house, 'select attempts from ops.quarantine')
  expect(attempts).toEqual([{ attempts: 3 }])
  const rooftops = await findRooftops(house.context.db, house.config.rooftops)
  const { rooftops: standing } = await readStatus(
    house.context.db,
    allStreams,
    rooftops,
    house.config,
  )
  expect(standing['rooftop-1']!.streams['vehicle-checks']).toMatchObject({ quarantined: 1 })
})

test('an unreadable answer for the newest evaluation of a vehicle lets an older one ask for it', async () => {
  await using house = await checkedHouse([
    { evalId: 1001, createdAt: '2026-03-08T00:00:00Z' },
    { evalId: 1002, createdAt: '2026-03-09T00:00:00Z' },
  ])
  check(house, -1)
  house.sandbox.faults.add({
    match: { path: paths.ppsr, evalId: 1002 },
    fault: { kind: 'status', status: 200, body: {} },
  })
  await house.night()

  await house.nightAfter(1)

  expect(await checkRows(house)).toHaveLength(1)
})
