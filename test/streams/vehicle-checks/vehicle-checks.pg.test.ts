import { expect, test } from 'vitest'
import {
  addCheck,
  aVin,
  checkedFixture,
  checkRequests,
  checkRows,
  dayMs,
} from '../../support/checks-fixture.ts'
import { morning, rowsOf } from '../../support/pricing-fixture.ts'

const at = (days: number) => new Date(morning.getTime() + days * dayMs)

test('a past search and a report become a row each, with their status, its change and a link', async () => {
  await using fixture = await checkedFixture([{ evalId: 1001 }])
  const search = addCheck(fixture, -0.5)
  const report = addCheck(fixture, -0.25, { kind: 'car_history' })

  const run = await fixture.night()

  expect(run).toMatchObject({ status: 'ok' })
  expect(run.streams['vehicle-checks']).toMatchObject({ requests: 2, inserted: 2, quarantined: 0 })
  expect(await checkRows(fixture)).toEqual([
    {
      eval_id: 1001,
      check_kind: 'car_history',
      check_ref: String(report.id),
      vin: aVin,
      searched_at: at(-0.25),
      search_number: report.searchNumber,
      certificate_number: search.certificateNumber,
      watch_status: 'watching',
      watch_status_since: at(0),
      watch_ends_at: null,
      gone_at: null,
    },
    {
      eval_id: 1001,
      check_kind: 'ppsr',
      check_ref: String(search.id),
      vin: aVin,
      searched_at: at(-0.5),
      search_number: null,
      certificate_number: null,
      watch_status: 'watching',
      watch_status_since: at(0),
      watch_ends_at: at(13.5),
      gone_at: null,
    },
  ])
  expect(
    await rowsOf(
      fixture,
      'select from_status, to_status, observed_at from core.watch_status_change',
    ),
  ).toEqual([
    { from_status: null, to_status: 'watching', observed_at: at(0) },
    { from_status: null, to_status: 'watching', observed_at: at(0) },
  ])
  const links = await rowsOf<{ url: string }>(
    fixture,
    'select link_kind, link_ref, url, signed_at, expires_at from pii.signed_link order by 1',
  )
  expect(links).toMatchObject([
    { link_kind: 'car_history_pdf', link_ref: String(report.id), signed_at: at(0) },
    { link_kind: 'ppsr_pdf', link_ref: String(search.id), expires_at: at(7) },
  ])
  expect((await fetch(links[0]!.url)).headers.get('content-type')).toBe('application/pdf')
})

test('a second run of the same night asks nothing and writes nothing', async () => {
  await using fixture = await checkedFixture([{ evalId: 1001 }])
  addCheck(fixture, -0.5)
  await fixture.night()
  const before = await checkRows(fixture)
  const requests = checkRequests(fixture)

  const again = await fixture.night()

  expect(again.streams['vehicle-checks']).toMatchObject({ inserted: 0, updated: 0 })
  expect(checkRequests(fixture)).toEqual(requests)
  expect(await checkRows(fixture)).toEqual(before)
})
