import type { ReportRow } from './marts-rows.ts'

/** A case that a report must show in some row: a comparison without it would prove little. */
export interface RequiredCase {
  readonly view: string
  readonly what: string
  holds(row: ReportRow): boolean
}

const isAbove = (column: string) => (row: ReportRow) => Number(row[column]) > 0
const isBelow = (column: string) => (row: ReportRow) => Number(row[column]) < 0
const isNull = (column: string) => (row: ReportRow) => row[column] === null
const is = (column: string, value: unknown) => (row: ReportRow) => row[column] === value

function among(
  view: string,
  cases: Readonly<Record<string, RequiredCase['holds']>>,
): RequiredCase[] {
  return Object.entries(cases).map(([what, holds]) => ({ view, what, holds }))
}

/** Of each world, some row for each of these. */
export const requiredCases: readonly RequiredCase[] = [
  ...among('rpt_01_appraisal_gap', {
    'an appraisal without a guide': isNull('wholesale_first'),
    'a gap beyond what the share holds': is('gap_share', '999.9999'),
    'an appraisal below the guide': isBelow('gap_to_wholesale_first'),
    'an appraisal without a salesperson': isNull('user_id'),
    'a guide that has moved': (row) => row['retail_first'] !== row['retail_now'],
  }),
  ...among('rpt_02_look_to_book', {
    'evaluations that were bought': isAbove('bought'),
    'evaluations without a purchase': is('bought', 0),
    'a month before the first stock list': isNull('bought'),
    'evaluations without a salesperson': isNull('user_id'),
  }),
  ...among('rpt_03_recon_drift', {
    'a drift upwards': isAbove('drift'),
    'a drift downwards': isBelow('drift'),
    'work that was not estimated at first': is('first_cost', '0.000'),
    'lines without a type': is('recon_type', 'unknown'),
  }),
  ...among('rpt_04_time_to_complete', { 'completions after days': isAbove('over_a_day') }),
  ...among('rpt_05_aged_stock_price_move', {
    'own price cuts': isAbove('own_cut'),
    'a market without a second price': (row) =>
      row['market_retail_first'] !== null && row['market_move'] === null,
    'a market that has moved': (row) => Number(row['market_move']) !== 0,
    'units without a market price': isNull('market_retail_now'),
    'units without an asking price': isNull('asking_price_now'),
  }),
  ...among(
    'rpt_06_ppsr_exposure',
    Object.fromEntries(
      [
        ...['interest changed', 'interest on search', 'never searched', 'not asked'],
        ...['stale search', 'result unknown', 'clear'],
      ].map((exposure) => [exposure, is('exposure', exposure)]),
    ),
  ),
  ...among('rpt_07_photo_completeness', {
    'evaluations without photos': isAbove('no_photo'),
    'photos without a hero': isAbove('contract_breach'),
    'complete ones': isAbove('complete'),
  }),
  ...among('rpt_08_pricing_coverage', {
    'evaluations that cannot be priced': isAbove('cannot_be_priced'),
    'evaluations whose pricing failed': isAbove('failed'),
    'evaluations that were not asked about': isAbove('not_asked'),
  }),
  ...among('rpt_09_ev_battery_health', {
    'a reading': is('is_reading_missing', false),
    'a missing reading': is('is_reading_missing', true),
  }),
  ...among('rpt_10_appraisal_volume', {
    'dinars to three decimals': (row) =>
      row['currency_code'] === 'KWD' && !String(row['value_sum']).endsWith('00'),
    'appraisals without a price': (row) => Number(row['with_price']) < Number(row['appraisals']),
  }),
  ...among('rpt_11_post_completion_changes', {
    'price rises': isAbove('price_increase_sum'),
    'price falls': isAbove('price_decrease_sum'),
    reassignments: isAbove('reassignments'),
    'changes of the work': isAbove('recon_changes'),
  }),
  ...among('rpt_12_ai_price_accuracy', {
    'prices above the guide': isAbove('error'),
    'prices below the guide': isBelow('error'),
    'a vehicle that was appraised at another rooftop of the group': (row) =>
      !String(row['evaluation_key']).startsWith(`${row['rooftop_id']}-`),
  }),
  ...among('rpt_13_repeat_appraisals', {
    'a vehicle of two rooftops': is('rooftops', 2),
    'a vehicle of one rooftop': is('rooftops', 1),
    'a vehicle that was bought': is('is_bought', true),
  }),
  ...among('rpt_14_link_capture_funnel', {
    'link captures': is('is_link_captured', true),
    'evaluations in person': is('is_link_captured', false),
    'a month before the first stock list': isNull('bought'),
  }),
  ...among('rpt_15_data_freshness', {
    'a rooftop to trust': is('may_trust', true),
    'a rooftop with records in quarantine': isAbove('quarantined'),
    'a rooftop with vanished evaluations': isAbove('vanished'),
  }),
]
