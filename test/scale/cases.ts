import { reportSpecs } from '#src/web/console/reports/specs.ts'
import type { ConsoleFixture, Role } from '../web/console/console-fixture.ts'

/** What the addresses name: what is typical, and what is the most work for its page. */
export interface Facts {
  readonly uid: string
  /** The rooftop of a tenth of all evaluations, and its group. */
  readonly large: string
  readonly group: string
  readonly day: string
  readonly month: string
  readonly night: number
  readonly event: number
  readonly failed: number
  readonly backfill: number
  readonly running: number
  readonly oldRun: number
  readonly held: number
  readonly resolved: number
  readonly cause: string
  readonly evalId: number
  readonly edited: number
  readonly vin: string
  readonly stockNo: string
  readonly stockKey: string
  readonly list: number
  readonly upload: string
  readonly jobRun: number
  readonly action: number
}

/** Finds them in the filled warehouse. */
export async function readFacts({ rows, config }: ConsoleFixture): Promise<Facts> {
  const [facts] = await rows<Facts>(
    `with one as (select rooftop_id, rooftop_uid, group_id from scale.place where no = 5),
      big as (select rooftop_id, rooftop_uid from scale.place where no = 0),
      unit as (select * from core.stock_unit where rooftop_id = (select rooftop_id from one) and off_stock_at is null order by acquired_on, stock_no offset 40 limit 1)
    select (select rooftop_uid from one) as uid, (select rooftop_uid from big) as large,
      to_char(now() - interval '50 days', 'YYYY-MM-DD') as day, to_char(now() - interval '40 days', 'YYYY-MM') as month,
      (select max(run_id)::float8 from ops.run where lane = 'foreground' and status = 'ok') as night,
      (select max(run_id)::float8 from ops.run where lane = 'event') as event,
      (select max(run_id)::float8 from ops.run where lane = 'event' and status = 'failed') as failed,
      (select max(run_id)::float8 from ops.run where lane = 'background' and status = 'paused') as backfill,
      (select max(run_id)::float8 from ops.run where status = 'running') as running, 30000 as "oldRun",
      (select max(quarantine_id)::float8 from ops.quarantine where payload is not null and resolved_at is null) as held,
      (select max(quarantine_id)::float8 from ops.quarantine where resolved_at is not null) as resolved,
      (select cause from ops.quarantine where resolved_at is null and stream = 'evaluations' limit 1) as cause,
      (select max(eval_id)::float8 from core.evaluation where rooftop_id = (select rooftop_id from big) and version_no = 1) as "evalId",
      (select max(eval_id)::float8 from core.evaluation where rooftop_id = (select rooftop_id from one) and version_no > 1) as edited,
      (select vehicle_vin from core.evaluation where eval_id > 10000000 and vehicle_vin is not null limit 1) as vin,
      (select max(import_id)::float8 from core.stock_import where rooftop_id = (select rooftop_id from one)) as list,
      (select max(upload_id::text) from ops.stock_upload) as upload,
      (select stock_no from unit) as "stockNo", (select json_build_array(acquired_on, (select rooftop_uid from one), stock_no)::text from unit) as "stockKey",
      (select max(fire_id)::float8 from ops.job_fire where job_name = 'hourly') - 60 as "jobRun",
      (select max(action_id)::float8 from ops.console_action) - 60 as action`,
  )
  return { ...facts!, group: config.rooftops[0]!.group }
}

/** An address, and who asks. */
export interface Case {
  readonly path: string
  readonly role: Exclude<Role, null>
}

/** The addresses of each page of pages.ts: usual ones, those of filters, second pages, and the most work. */
export const addresses: Readonly<Record<string, (facts: Facts) => readonly string[]>> = {
  '/': () => ['/', '/?show=all'],
  '/coverage': ({ month, group }) => [
    ...['/coverage', '/coverage?stream=users', `/coverage?group=${group}`],
    `/coverage?from=${month}-01&to=${month}-28`,
    `/coverage?from=${Number(month.slice(0, 4)) - 2}-01-01&to=${month}-01`,
  ],
  '/coverage/:uid/:day': ({ uid, large, day }) => [
    ...[`/coverage/${uid}/${day}`, `/coverage/${large}/${day}`],
  ],
  '/rooftops/:uid': ({ uid, large }) => [`/rooftops/${uid}`, `/rooftops/${large}`],
  '/runs': ({ uid, oldRun, day }) => [
    ...['/runs', '/runs?status=all', `/runs?status=all&after=${oldRun}`, `/runs?rooftop=${uid}`],
    ...[
      '/runs?status=bad',
      '/runs?status=failed',
      `/runs?status=all&rooftop=${uid}&stream=pricing`,
    ],
    ...['/runs?status=all&command=run+nightly', `/runs?status=all&from=${day}`],
    ...['/runs?status=abandoned', '/runs?status=all&command=none', '/runs?status=ok&stream=users'],
  ],
  '/runs/:id': ({ night, event, failed, backfill, running, oldRun }) => [
    ...[night, event, failed, backfill, running, oldRun].map((id) => `/runs/${id}`),
    `/runs/${night}?skip=200`,
  ],
  '/quarantine': ({ uid, large, cause, held }) => [
    ...['/quarantine', '/quarantine?list=1', `/quarantine?list=1&after=${held}`],
    ...[`/quarantine?rooftop=${uid}`, `/quarantine?rooftop=${large}&list=1`],
    ...['/quarantine?stream=pricing', `/quarantine?cause=${cause}`],
    ...[`/quarantine?cause=${cause}&rooftop=${uid}`, '/quarantine?stream=users'],
    ...['/quarantine?tab=resolved', '/quarantine?tab=resolved&list=1'],
    `/quarantine?tab=resolved&rooftop=${uid}`,
  ],
  '/quarantine/:id': ({ held, resolved }) => [`/quarantine/${held}`, `/quarantine/${resolved}`],
  '/work': () => ['/work'],
  '/backfills': () => ['/backfills'],
  '/jobs': () => ['/jobs'],
  '/jobs/:name': ({ jobRun }) => ['/jobs/hourly', `/jobs/hourly?before=${jobRun}`, '/jobs/reprice'],
  '/webhooks': () => [
    ...['/webhooks', '/webhooks?show=waiting', '/webhooks?show=all'],
    ...['/webhooks?show=all&before=50000', '/webhooks?before=50000'],
  ],
  '/links': () => ['/links'],
  '/spend': () => ['/spend'],
  '/drift': () => ['/drift', '/drift?stream=evaluations&check=odometer'],
  '/names': () => ['/names'],
  '/actions': ({ action }) => [
    ...['/actions', `/actions?before=${action}`, '/actions?who=kim%40example.com'],
    '/actions?who=none%40example.com',
  ],
  '/reports': () => ['/reports'],
  '/reports/:view': ({ uid, large, group, month }) =>
    reportSpecs.flatMap(({ view }) =>
      ['', `?rooftop=${uid}`, `?rooftop=${large}`, `?month=${month}`, `?group=${group}`].map(
        (query) => `/reports/${view}${query}`,
      ),
    ),
  '/stock': ({ uid, stockKey, vin }) => [
    ...[
      '/stock',
      `/stock?rooftop=${uid}`,
      `/stock?after=${encodeURIComponent(stockKey)}`,
      '/stock?show=unpriced',
      '/stock?show=ppsr',
    ],
    ...['/stock?show=missing', `/stock?q=${vin.slice(-6)}`, `/stock?rooftop=${uid}&q=model`],
  ],
  '/stock/units/:uid/:no': ({ uid, stockNo }) => [`/stock/units/${uid}/${stockNo}`],
  '/stock/prices': ({ uid }) => [
    ...['/stock/prices', `/stock/prices?rooftop=${uid}`, `/stock/prices?rooftop=${uid}&days=90`],
  ],
  '/stock/upload': ({ uid }) => ['/stock/upload', `/stock/upload?rooftop=${uid}`],
  '/stock/upload/:id/mapping': ({ upload }) => [`/stock/upload/${upload}/mapping`],
  '/stock/upload/:id/check': ({ upload }) => [`/stock/upload/${upload}/check`],
  '/stock/imports': ({ uid }) => ['/stock/imports', `/stock/imports?rooftop=${uid}`],
  '/stock/imports/:id': ({ list }) => [`/stock/imports/${list}`],
  '/stock/mappings': ({ uid }) => ['/stock/mappings', `/stock/mappings?rooftop=${uid}`],
  '/search': ({ vin, evalId, stockNo, held, night }) => [
    ...[vin, vin.slice(-6), vin.slice(-8), evalId, stockNo, `q${held}`, `r${night}`].map(
      (q) => `/search?q=${q}`,
    ),
    '/search?q=nothing',
  ],
  '/evaluations/:id': ({ evalId, edited }) => [
    ...[
      `/evaluations/${evalId}`,
      `/evaluations/${edited}`,
      '/evaluations/999',
      '/evaluations/99999999',
    ],
    '/evaluations/9999999',
  ],
}

/** Pages that a person of stock opens too: sam@ of one rooftop, gus@ of a group. */
const ofStock = ['/stock', '/stock/units/:uid/:no', '/stock/prices', '/stock/imports']

/** Every address of a page, for each role that reads it in another way. */
export function casesOf(path: string, facts: Facts): Case[] {
  const engineer = addresses[path]!(facts).map((one): Case => ({ path: one, role: 'engineer' }))
  if (!ofStock.includes(path)) return engineer
  const { large, vin } = facts
  const own = path === '/stock/units/:uid/:no' ? [] : [path, `${path}?rooftop=${large}`]
  return [
    ...engineer,
    ...own.map((one): Case => ({ path: one, role: 'stock' })),
    ...(path === '/stock' ? [{ path: `/stock?q=${vin.slice(-4)}`, role: 'stock' } as const] : []),
  ]
}
