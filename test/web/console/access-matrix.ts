import type { ListCheck } from '#src/stock/import/list-check.ts'
import type { ConsoleFixture } from './console-fixture.ts'

/** What the path of a page names: of one rooftop, or of nothing that exists. */
export interface Target {
  readonly uid: string
  readonly evalId: number
  readonly stockNo: string
  readonly quarantineId: number
  readonly runId: number
  /** A job and a view of the marts; the same for every rooftop. */
  readonly job: string
  readonly view: string
  readonly uploadId: string
  readonly importId: number
}

/** A target for paths whose answer does not matter. */
export const nothing: Target = {
  ...{ uid: 'no-such-rooftop', evalId: 999_999_999, stockNo: 'none', quarantineId: 999_999_999 },
  ...{ runId: 999_999_999, job: 'no-such-job', view: 'no_such_view', importId: 999_999_999 },
  uploadId: '00000000-0000-4000-8000-000000000000',
}

/** What belongs to sam's rooftop, to a sister rooftop of it, to a rooftop of gus' group, and nothing. Each gets a quarantined record and
 *  an uploaded list. */
export async function readTargets({ config, rows }: ConsoleFixture): Promise<readonly Target[]> {
  const uids = [0, 1, -1].map((at) => config.rooftops.at(at)!.uid)
  await rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id)
     select 'evaluations', rooftop_id, 'of ' || rooftop_uid, '[]', '{}', (select max(run_id) from ops.run)
     from core.rooftop where rooftop_uid = any($1)`,
    [uids],
  )
  await rows(
    `insert into ops.stock_upload (rooftop_id, email, file_name, sha256, byte_count, content, options, result, newest_import_id)
     select rooftop_id, 'sam@example.com', 'list.csv', sha256('x'), 1, 'x', '{"mode":"snapshot","maps":[],"encoding":null,"delimiter":null,"sheet":null}',
       $2, (select coalesce(max(import_id), 0) from core.stock_import as i where i.rooftop_id = r.rooftop_id)
     from core.rooftop as r where rooftop_uid = any($1)`,
    [uids, JSON.stringify(readyUpload)],
  )
  const found = await rows<Omit<Target, 'job' | 'view'>>(
    `select rooftop_uid as uid, (select max(run_id)::int from ops.run) as "runId",
       (select min(eval_id)::int from core.evaluation as e where e.rooftop_id = r.rooftop_id) as "evalId",
       (select max(stock_no) from core.stock_unit as s where s.rooftop_id = r.rooftop_id) as "stockNo",
       (select max(quarantine_id)::int from ops.quarantine as q where q.rooftop_id = r.rooftop_id) as "quarantineId",
       (select upload_id from ops.stock_upload as u where u.rooftop_id = r.rooftop_id) as "uploadId",
       (select max(import_id)::int from core.stock_import as i where i.rooftop_id = r.rooftop_id) as "importId"
     from core.rooftop as r where rooftop_uid = any($1) order by array_position($1, rooftop_uid::text)`,
    [uids],
  )
  const common = { job: 'nightly', view: 'rpt_05_aged_stock_price_move' }
  return [...found.map((one) => ({ ...one, ...common })), nothing]
}

/** What a check of a list of one car found. */
export const readyUpload: ListCheck = {
  ...{ state: 'ready', mode: 'snapshot', newest: 0, encoding: 'utf-8', delimiter: ',' },
  mapping: {
    ...{ status: 'sure', columns: [], key: 'stock_number', absent: [], missing: [] },
    ...{ hasHeader: true, fingerprint: '', questions: [], warnings: [] },
  },
  ...{ first: null, refusals: [] },
  report: {
    ...{ importId: null, rooftop: '', file: 'list.csv', mode: 'snapshot', status: 'dry-run' },
    ...{ encoding: 'utf-8', delimiter: ',', sheet: null, entry: null, mapping: [] },
    ...{ records: 1, accepted: 1, rejected: 0, collapsed: 0, skipped: 0 },
    ...{ added: 1, updated: 0, unchanged: 0, removed: 0, reappeared: 0, offStock: 0 },
    ...{ changes: [], issueCounts: {}, issueTotals: [], issues: [], warnings: [], missing: [] },
    ...{ figures: [], rejectsFile: null },
  },
}

/** What a page answers. */
export interface Row {
  readonly path: (target: Target) => string
  /** By role, the status for what belongs to: sam's rooftop, a sister rooftop of it, a rooftop of gus' group, nothing that exists. */
  readonly expected: Readonly<Record<'engineer' | 'viewer' | 'stock' | 'group', string>>
}

/** The statuses of engineers and viewers, of sam and of gus. */
export const perRole = (reader: string, stock: string, group = stock): Row['expected'] => ({
  ...{ engineer: reader, viewer: reader, stock, group },
})

/** A page of no particular thing, for engineers and viewers. */
const forEngineers = perRole('200 200 200 200', '403 403 403 403')

/** A page of one thing, for engineers and viewers. */
const oneThing = perRole('200 200 200 404', '403 403 403 403')

/** A page of the stock of one rooftop. */
const stockOfOne = perRole('200 200 200 404', '200 404 404 404', '404 404 200 404')

/** A step of an uploaded list. */
const stepOfOne: Row['expected'] = { ...stockOfOne, viewer: '403 403 403 403' }

/** Every page of pages.ts by its path, with one to ask for and the statuses. */
const matrix: Readonly<Record<string, Row>> = {
  // A stock person is sent to the stock.
  '/': { path: () => '/', expected: perRole('200 200 200 200', '303 303 303 303') },
  '/coverage': { path: ({ uid }) => `/coverage?rooftop=${uid}`, expected: forEngineers },
  '/coverage/:uid/:day': {
    ...{ path: ({ uid }) => `/coverage/${uid}/2026-03-09?stream=evaluations`, expected: oneThing },
  },
  '/rooftops/:uid': { path: ({ uid }) => `/rooftops/${uid}`, expected: oneThing },
  '/runs': { path: ({ uid }) => `/runs?rooftop=${uid}`, expected: forEngineers },
  '/runs/:id': { path: ({ runId }) => `/runs/${runId}`, expected: oneThing },
  '/quarantine': { path: ({ uid }) => `/quarantine?rooftop=${uid}`, expected: forEngineers },
  '/quarantine/:id': {
    ...{ path: ({ quarantineId }) => `/quarantine/${quarantineId}`, expected: oneThing },
  },
  '/work': { path: () => '/work', expected: forEngineers },
  '/backfills': { path: () => '/backfills', expected: forEngineers },
  '/jobs': { path: () => '/jobs', expected: forEngineers },
  '/jobs/:name': { path: ({ job }) => `/jobs/${job}`, expected: oneThing },
  '/webhooks': { path: () => '/webhooks', expected: forEngineers },
  '/links': { path: () => '/links', expected: forEngineers },
  '/spend': { path: () => '/spend', expected: forEngineers },
  '/drift': { path: () => '/drift', expected: forEngineers },
  '/names': { path: () => '/names', expected: forEngineers },
  '/actions': { path: () => '/actions', expected: forEngineers },
  '/reports': { path: () => '/reports', expected: forEngineers },
  '/reports/:view': {
    ...{ path: ({ uid, view }) => `/reports/${view}?rooftop=${uid}`, expected: oneThing },
  },
  '/stock': { path: ({ uid }) => `/stock?rooftop=${uid}`, expected: stockOfOne },
  '/stock/units/:uid/:no': {
    ...{ path: ({ uid, stockNo }) => `/stock/units/${uid}/${stockNo}`, expected: stockOfOne },
  },
  '/stock/prices': { path: ({ uid }) => `/stock/prices?rooftop=${uid}`, expected: stockOfOne },
  '/stock/upload': {
    path: () => '/stock/upload',
    expected: { ...perRole('200 200 200 200', '200 200 200 200'), viewer: '403 403 403 403' },
  },
  '/stock/upload/:id/mapping': {
    ...{ path: ({ uploadId }) => `/stock/upload/${uploadId}/mapping`, expected: stepOfOne },
  },
  '/stock/upload/:id/check': {
    ...{ path: ({ uploadId }) => `/stock/upload/${uploadId}/check`, expected: stepOfOne },
  },
  '/stock/imports': { path: ({ uid }) => `/stock/imports?rooftop=${uid}`, expected: stockOfOne },
  '/stock/imports/:id': {
    ...{ path: ({ importId }) => `/stock/imports/${importId}`, expected: stockOfOne },
  },
  '/stock/mappings': {
    ...{ path: () => '/stock/mappings', expected: perRole('200 200 200 200', '200 200 200 200') },
  },
  // One hit leads to its page.
  '/search': {
    path: ({ quarantineId }) => `/search?q=q${quarantineId}`,
    expected: perRole('303 303 303 200', '403 403 403 403'),
  },
  // What was never listed has a page that says so.
  '/evaluations/:id': {
    ...{ path: ({ evalId }) => `/evaluations/${evalId}`, expected: forEngineers },
  },
}

/** The paths that have a row. */
export const rows: readonly string[] = Object.keys(matrix)

/** The row of a page. */
export function rowOf(page: string): Row {
  const row = matrix[page]
  if (row === undefined)
    throw new Error(`Add a row for ${page} to test/web/console/access-matrix.ts.`)
  return row
}
