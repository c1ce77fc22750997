import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { dayMs, type Fixture, openFixture } from '../support/fixture.ts'
import { openConsole } from '../web/console/console-fixture.ts'
import { openWorker } from '../web/console/worker.ts'
import { type Browsing, browse } from './browser.ts'
import { focusSeen, type Keyboard, keyboardOf } from './keyboard.ts'

const now = new Date()
const ago = (days: number) => new Date(now.getTime() - days * dayMs)

/** A console of two rooftops: one has a gap of a day; three evaluations were in quarantine until now; 1005 has two payloads. */
async function openJourneys(): Promise<Browsing> {
  const uids = ['north', 'south']
  const world = worldOf({
    rooftops: uids.map((uid, at) => aRooftop({ uid, name: `The ${uid}`, dealerId: 101 + at })),
    evaluations: uids.flatMap((rooftopUid, at) =>
      Array.from({ length: 6 }, (_, index) =>
        anEvaluation({ evalId: 1000 + 100 * at + index, rooftopUid, createdAt: ago(4) }),
      ),
    ),
  })
  const poisoned = [1000, 1001, 1100]
  for (const id of poisoned) world.poison(id, { UpdatedAt: 'never' })
  const fixture = await openFixture({
    sandbox: { world, now: ago(1) },
    sync: { start: ago(8).toISOString() },
  })
  await fixture.night()
  world.edit(1005, ago(0.9), { finalPrice: 21_500, odometer: 51_000 })
  await fixture.nightAfter(0.5)
  // The service answers well from now on, and a day of the north was never listed.
  for (const id of poisoned) world.removePoison(id)
  await forgetDay(fixture)
  return await browse(await openConsole({ fixture }))
}

async function forgetDay({ database }: Fixture): Promise<void> {
  await database.pool.query(`
    with gone as (
      delete from ops.window_certificate using core.rooftop
      where rooftop.rooftop_id = window_certificate.rooftop_id and rooftop_uid = 'north' and stream = 'evaluations'
        and window_from < now() - interval '6 days' and settled
      returning window_certificate.rooftop_id, tstzrange(window_from, window_until) as span
    )
    update ops.coverage set covered = covered - spans.all_of
    from (select rooftop_id, range_agg(span) as all_of from gone group by 1) as spans
    where coverage.rooftop_id = spans.rooftop_id and stream = 'evaluations'`)
}

describe.each([{ script: true }, { script: false }])('by keyboard alone, %o', (view) => {
  let browsing: Browsing

  beforeAll(async () => {
    browsing = await openJourneys()
  })
  afterAll(async () => {
    await browsing[Symbol.asyncDispose]()
  })

  const openAt = async (path: string) => keyboardOf(await browsing.open(path, view))

  /** Follows a run at its page while a worker does it; without script, a person loads the page again. */
  async function endsWell({ page }: Keyboard): Promise<void> {
    expect(new URL(page.url()).pathname).toMatch(/^\/console\/runs\/\d+$/)
    const status = async () => {
      if (!view.script) await page.reload()
      return await page.getByRole('status').first().textContent()
    }
    expect(await status()).toBe('It waits for a worker: no process works for it.')
    await using _worker = await openWorker(browsing.console.fixture)
    await expect.poll(status, { timeout: 30_000, interval: 500 }).toMatch(/^It ended well: /)
  }

  test('from the morning to a gap, and to the run that reads its day again', async () => {
    const keyboard = await openAt('/')
    const { page, skip, enter, tabTo } = keyboard
    await skip()
    await enter('link', 'Show the gaps')
    expect(await page.title()).toBe('The north · Forecourt')
    await enter('link', /^Show \d+ \w+$/)
    await skip()
    await enter('button', /^Read evaluations of .* of The north again$/)
    await skip()
    await tabTo('button', /^Pause/)
    await endsWell(keyboard)

    // With the button gone, the focus is at what it was in; a page that is loaded again begins at its start.
    if (view.script) expect(await focusSeen(page)).toBe('main')
    expect(await browsing.console.rows(gapsLeft)).toEqual([])
    await page.close()
  })

  test('from the causes in quarantine to a retry that leaves it empty', async () => {
    const keyboard = await openAt('/')
    const { page, skip, tabTo, press, enter } = keyboard
    await enter('link', 'Quarantine')
    await skip()
    await tabTo('combobox', 'Rooftop')
    await press('ArrowDown')
    await enter('button', 'Show')
    expect(new URL(page.url()).searchParams.get('rooftop')).toBe('north')
    await skip()
    await tabTo('combobox', 'Rooftop')
    await press('ArrowUp')
    await enter('button', 'Show')
    await skip()
    await tabTo('button', 'Retry 3 records')
    await Promise.all([page.waitForEvent('load'), press('Space')])
    await endsWell(keyboard)

    await enter('link', 'Quarantine')
    const content = await page.getByRole('main').textContent()
    expect(content).toContain('Nothing: every record that was read is in its tables.')
    await page.close()
  })

  test('from a sign-in link to what changed between two payloads', async () => {
    const keyboard = keyboardOf(await browsing.openSignedOut(view))
    const { page, skip, tabTo, enter, press, type } = keyboard
    await page.goto(await browsing.console.link('engineer'))
    // Without script, one button; with it, none.
    if (!view.script) await enter('button', 'Open the console')
    await page.waitForURL('**/console/')
    await tabTo('searchbox', 'Find')
    await type('1005')
    await Promise.all([page.waitForEvent('load'), press('Enter')])
    expect(await page.title()).toBe('Evaluation 1005 · Forecourt')
    await skip()
    await tabTo('combobox', 'To')
    await enter('button', 'Compare')

    const changes = page.getByRole('table').filter({ has: page.getByText('Feeds') })
    const row = changes.getByRole('row').filter({ hasText: 'final_price' })
    expect(await row.getByRole('cell').allTextContents()).toMatchObject([
      ...['Old23500', 'New21500'],
      expect.stringContaining('final_price'),
    ])
    await page.close()
  })

  test('from More to a page that is not in the line', async () => {
    const { page, press, tabTo, enter } = await openAt('/')
    const link = page.getByRole('link', { name: 'Jobs', exact: true })
    const openMenu = async () => {
      while ((await focusSeen(page)) !== 'More') await press('Tab')
      await press('Enter')
      await link.waitFor()
    }
    await press('Tab')
    await openMenu()
    if (view.script) {
      await tabTo('link', 'Jobs')
      await press('Escape')
      expect(await link.isVisible()).toBe(false)
      await openMenu()
      await tabTo('searchbox', 'Find')
      expect(await link.isVisible()).toBe(false)
      await press('Shift+Tab')
      await openMenu()
    }
    await enter('link', 'Jobs')

    expect(await page.title()).toBe('Jobs · Forecourt')
    expect(await page.locator('nav summary').textContent()).toBe('More: Jobs')
    expect(await page.locator('[aria-current=page]').textContent()).toBe('Jobs')
    await page.close()
  })
})

describe('a page that follows a run', () => {
  let browsing: Browsing

  beforeAll(async () => {
    browsing = await openJourneys()
    const day = ago(6).toISOString().slice(0, 10)
    await browsing.console.post(`/coverage/north/${day}`, { action: 'read-again' })
  })
  afterAll(async () => await browsing[Symbol.asyncDispose]())

  /** Another problem at the top of the list of the morning: below it, everything moves. */
  const fail = async () =>
    await browsing.console.rows(
      `update ops.run_stream set status = 'failed', error = 'a 403' where run_id = 2 and stream = 'users'`,
    )
  const repair = async () =>
    await browsing.console.rows(
      `update ops.run_stream set status = 'ok', error = null where run_id = 2 and stream = 'users'`,
    )

  test.each([
    ['link', 'Show the gaps'],
    ['searchbox', 'Find'],
    ['button', 'Sign out'],
  ] as const)('leaves the focus at the %s “%s” while parts of it change', async (role, name) => {
    const { page, tabTo, type } = keyboardOf(await browsing.open('/'))
    const isTyped = role === 'searchbox'
    await tabTo(role, name)
    if (isTyped) await type('10')
    const before = await page.getByRole('contentinfo').textContent()
    await fail()
    await page.getByText('a 403').first().waitFor()
    await repair()
    await expect
      .poll(async () => await page.getByText('a 403').count(), { timeout: 10_000 })
      .toBe(0)

    expect(await page.getByRole('contentinfo').textContent()).not.toBe(before)
    const focused = page.locator(':focus')
    expect(await focused.count()).toBe(1)
    expect(await focused.evaluate((one) => one.textContent)).toBe(isTyped ? '' : name)
    if (isTyped) expect(await focused.inputValue()).toBe('10')
    await page.close()
  })
})

const gapsLeft = `select from ops.coverage where stream = 'evaluations' and not isempty(wanted - covered) and upper(wanted - covered) < now() - interval '4 days'`
