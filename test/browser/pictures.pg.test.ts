import { mkdir, writeFile } from 'node:fs/promises'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { dayMs, openFixture } from '../support/fixture.ts'
import { openConsole } from '../web/console/console-fixture.ts'
import { type Browsing, browse, type View } from './browser.ts'

const folder = new URL('../../src/web/console/pictures/', import.meta.url)

let browsing: Browsing
/** An evaluation that was edited between two nights. */
let edited: number

/** Two nights of the sandbox's six rooftops and twelve planted before them: the second has an edit, records that do not fit, and a key that was refused. */
beforeAll(async () => {
  const now = new Date(Math.floor(Date.now() / 1000) * 1000)
  const ago = (days: number) => new Date(now.getTime() - days * dayMs)
  const sandbox = { seed: 7, evaluations: 900, days: 300, now: ago(0.6) }
  const sync = { start: ago(300).toISOString() }
  const fixture = await openFixture({ sandbox, sync, streams: allStreams })
  const { world } = fixture.sandbox
  const { pool } = fixture.database
  await fixture.night()
  const { rows } = await pool.query<{ id: number; name: string }>(
    `select eval_id::int as id, rooftop_name as name from core.evaluation join core.rooftop using (rooftop_id)
     where rooftop_name in ('Harbour City Sydney', 'Gulf Pearl Dubai') order by created_at desc`,
  )
  const idsOf = (rooftop: string) =>
    rows.flatMap(({ id, name }) => (name === rooftop ? [id] : [])).slice(0, 3)
  edited = idsOf('Harbour City Sydney')[2]!
  world.edit(edited, ago(0.5), {
    ...{ finalPrice: 31_900, odometer: 61_240, condition: 6, notes: 'Two new tyres, small dent.' },
  })
  for (const id of idsOf('Gulf Pearl Dubai')) {
    world.edit(id, ago(0.5), { odometer: 71_000 })
    world.poison(id, { FinalPrice: 'n/a' })
  }
  await fixture.nightAfter(0.58)
  await pool.query(plantedNights)
  await pool.query(refusedKey)
  browsing = await browse(await openConsole({ fixture }))
}, 300_000)
afterAll(async () => await browsing[Symbol.asyncDispose]())

/** Runs of the nights before; one was partial. */
const plantedNights = `
  insert into ops.run (run_id, command, arguments, source_started_at, status, started_at, finished_at) overriding system value
    select -n, 'sync', arguments, source_started_at - n * interval '1 day', 'ok', started_at - n * interval '1 day', finished_at - n * interval '1 day'
    from ops.run, generate_series(1, 13) as n where run_id = 1;
  insert into ops.run_stream (run_id, rooftop_id, stream, status, error, finished_at)
    select -n, rooftop_id, stream, case when n = 5 and stream = 'pricing' then 'partial' else 'ok' end,
      case when n = 5 and stream = 'pricing' then 'answers 500' end, finished_at - n * interval '1 day'
    from ops.run_stream, generate_series(1, 13) as n where run_id = 1`

const refusedKey = `
  update ops.run_stream set status = 'failed', error = '403 at /getevallist: the key is not valid for this dealer'
  from core.rooftop where rooftop.rooftop_id = run_stream.rooftop_id and run_id = 2 and rooftop_name like 'Lakeside%' and stream in ('users', 'evaluations');
  with gone as (
    delete from ops.window_certificate using core.rooftop
    where rooftop.rooftop_id = window_certificate.rooftop_id and rooftop_name like 'Lakeside%' and run_id = 2 and window_until > now() - interval '3 days'
    returning window_certificate.rooftop_id, stream, tstzrange(window_from, window_until) as span
  )
  update ops.coverage set covered = covered - spans.all_of
  from (select rooftop_id, stream, range_agg(span) as all_of from gone group by 1, 2) as spans
  where coverage.rooftop_id = spans.rooftop_id and coverage.stream = spans.stream`

interface Shot {
  readonly name: string
  readonly path: () => string
  readonly view: Partial<View>
  /** The heading that it ends before; left out: the whole page. */
  readonly until?: string
}

const shots: readonly Shot[] = [
  { name: 'morning', path: () => '/', view: {} },
  { name: 'coverage', path: () => '/coverage', view: { scheme: 'dark' }, until: 'One day' },
  { name: 'evaluation', path: () => `/evaluations/${edited}`, view: {}, until: 'Row' },
  { name: 'narrow', path: () => '/', view: { width: 320 }, until: 'Running now' },
]

// `npm run pictures` writes them; nothing compares pixels, because fonts differ from machine to machine.
test.each(shots)('the picture $name shows its page, and is small', async (shot) => {
  const page = await browsing.open(shot.path(), shot.view)
  const { width } = page.viewportSize()!
  const end = shot.until && page.getByRole('heading', { name: shot.until, exact: true })
  const box = end ? await end.boundingBox() : null
  const clip = box === null ? {} : { clip: { x: 0, y: 0, width, height: box.y - 16 } }
  const shown = await page.screenshot({ fullPage: true, ...clip })
  const picture = await sharp(shown).png({ palette: true, colours: 128, effort: 10 }).toBuffer()
  if (process.env['FORECOURT_WRITE'] === '1') {
    await mkdir(folder, { recursive: true })
    await writeFile(new URL(`${shot.name}.png`, folder), picture)
  }

  expect(Boolean(box)).toBe(shot.until !== undefined)
  expect(picture.length).toBeLessThan(150_000)
  await page.close()
})
