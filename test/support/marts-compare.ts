import type pg from 'pg'
import {
  appraisalGap,
  appraisalVolume,
  lookToBook,
  photoCompleteness,
  postCompletionChanges,
  pricingCoverage,
  timeToComplete,
} from './marts-reports-evaluations.ts'
import { batteryHealth, reconDrift } from './marts-reports-recon.ts'
import {
  agedStock,
  aiAccuracy,
  type Bookkeeping,
  dataFreshness,
  linkCapture,
  ppsrExposure,
  repeatAppraisals,
} from './marts-reports-units.ts'
import type { MartTruth, ReportRow } from './marts-rows.ts'

/** A report: what it should say, and the columns that no two of its rows share. */
export interface Report {
  readonly view: string
  readonly key: readonly string[]
  expectedRows(truth: MartTruth, bookkeeping: ReadonlyMap<number, Bookkeeping>): ReportRow[]
}

const month = ['rooftop_id', 'month_start'] as const
const unit = ['rooftop_id', 'stock_no'] as const

/** The reports, in their order. */
export const reports: readonly Report[] = [
  { view: 'rpt_01_appraisal_gap', key: ['evaluation_key'], expectedRows: appraisalGap },
  { view: 'rpt_02_look_to_book', key: [...month, 'user_id'], expectedRows: lookToBook },
  {
    view: 'rpt_03_recon_drift',
    key: [...month, 'recon_type', 'currency_code'],
    expectedRows: reconDrift,
  },
  { view: 'rpt_04_time_to_complete', key: month, expectedRows: timeToComplete },
  { view: 'rpt_05_aged_stock_price_move', key: unit, expectedRows: agedStock },
  { view: 'rpt_06_ppsr_exposure', key: unit, expectedRows: ppsrExposure },
  { view: 'rpt_07_photo_completeness', key: month, expectedRows: photoCompleteness },
  { view: 'rpt_08_pricing_coverage', key: month, expectedRows: pricingCoverage },
  { view: 'rpt_09_ev_battery_health', key: ['evaluation_key'], expectedRows: batteryHealth },
  {
    view: 'rpt_10_appraisal_volume',
    key: ['rooftop_id', 'completed_date', 'currency_code'],
    expectedRows: appraisalVolume,
  },
  {
    view: 'rpt_11_post_completion_changes',
    key: [...month, 'user_id', 'currency_code'],
    expectedRows: postCompletionChanges,
  },
  { view: 'rpt_12_ai_price_accuracy', key: unit, expectedRows: aiAccuracy },
  {
    view: 'rpt_13_repeat_appraisals',
    key: ['group_code', 'vin', 'currency_code'],
    expectedRows: repeatAppraisals,
  },
  {
    view: 'rpt_14_link_capture_funnel',
    key: [...month, 'is_link_captured'],
    expectedRows: linkCapture,
  },
  { view: 'rpt_15_data_freshness', key: ['rooftop_id'], expectedRows: dataFreshness },
]

/** What a report says, in the spelling of the truth. */
export async function readReport(client: pg.ClientBase, view: string): Promise<ReportRow[]> {
  const { rows } = await client.query<Record<string, unknown>>(`select * from mart.${view}`)
  return rows.map(
    (row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          value instanceof Date ? value.toISOString() : value,
        ]),
      ) as ReportRow,
  )
}

/** The run that each rooftop's evaluations were read in last. */
export async function readBookkeeping(
  client: pg.ClientBase,
): Promise<ReadonlyMap<number, Bookkeeping>> {
  const { rows } = await client.query<{
    rooftop_id: number
    finished_at: Date
    ahead_ms: number
  }>(
    `select distinct on (rooftop_id) rooftop_id, part.finished_at,
       extract(epoch from source_started_at - started_at)::float8 * 1000 as ahead_ms
     from ops.run_stream as part join ops.run using (run_id)
     where stream = 'evaluations' order by rooftop_id, run_id desc`,
  )
  return new Map(
    rows.map((row) => [row.rooftop_id, { finishedAt: row.finished_at, aheadMs: row.ahead_ms }]),
  )
}

/** One line for each difference: rows that are missing, too many or there twice, and cells that differ. */
export function rowDifferences(
  expected: readonly ReportRow[],
  actual: readonly ReportRow[],
  key: readonly string[],
): string[] {
  const nameOf = (row: ReportRow) => key.map((column) => String(row[column])).join(' ')
  const found = Map.groupBy(actual, nameOf)
  const lines = expected.flatMap((row) => {
    const name = nameOf(row)
    const [held, ...more] = found.get(name) ?? []
    found.delete(name)
    if (held === undefined) return [`${name} is missing`]
    return [...more.map(() => `${name} is there again`), ...cellDifferences(name, row, held)]
  })
  return [...lines, ...found.keys().map((name) => `${name} should not be there`)]
}

/** A column that only one of them has differs too. */
function cellDifferences(name: string, expected: ReportRow, actual: ReportRow): string[] {
  const columns = new Set([...Object.keys(expected), ...Object.keys(actual)])
  return [...columns]
    .filter((column) => expected[column] !== actual[column])
    .map((column) => {
      const [held, wanted] = [actual[column], expected[column]].map((cell) =>
        cell === undefined ? 'no such column' : JSON.stringify(cell),
      )
      return `${name}.${column}: ${held} instead of ${wanted}`
    })
}
