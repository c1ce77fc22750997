import fc from 'fast-check'

/** An evaluation as the aggregates see it; the rest of its columns is always the same. */
export interface SmallEvaluation {
  readonly rooftop: number
  readonly id: number
  readonly day: string
  readonly user: number | null
  readonly currency: string
  readonly price: string | null
  readonly photos: number
  readonly hero: string | null
  readonly source: 'CreatedAt' | 'EntryDate'
  /** From creation to completion; below 0: created after it was completed. */
  readonly seconds: number
  readonly gone: boolean
  readonly vin: string | null
  /** What the service says that the work costs in all. */
  readonly recon: string | null
}

export interface SmallLine {
  readonly rooftop: number
  readonly id: number
  readonly first: number
  readonly line: number
  readonly last: number | null
  readonly type: string | null
  readonly cost: string | null
}

/** When every evaluation was completed. */
export const completed = Date.UTC(2026, 0, 20)

/** The row of core.evaluation. */
export function evaluationRow(one: SmallEvaluation) {
  const at = new Date(completed)
  return {
    ...{ rooftop_id: one.rooftop, eval_id: one.id, group_id: 1, user_id: one.user },
    ...{ entry_at: at, created_at: new Date(completed - one.seconds * 1000) },
    ...{ created_at_source: one.source, completed_at: at, source_updated_at: at },
    ...{ created_date_local: one.day, completed_date_local: one.day, odometer_unit: 'km' },
    ...{ final_price: one.price, currency_code: one.currency, photo_count: one.photos },
    ...{ hero_source: one.hero, user_price_count: 0, version_no: 1, content_hash: Buffer.of(0) },
    ...{ first_loaded_at: at, last_changed_at: at, gone_at: one.gone ? at : null, run_id: 1 },
    ...{ vin: one.vin, recon_total: one.recon, recon_line_total: '50' },
    ...{ make: null, model: null, variant: null, model_year: null, colour: null },
    ...{ registration_state: null, odometer: null, condition_score: null },
    ...{ customer_state: null, customer_postcode: null },
  }
}

/** The row of core.reconditioning_item. */
export function lineRow(one: SmallLine) {
  return {
    ...{ rooftop_id: one.rooftop, eval_id: one.id, first_version: one.first, line_no: one.line },
    ...{ last_version: one.last, recon_type: one.type, cost: one.cost },
    ...{ source: null, value_text: null, battery_soh_pct: null },
  }
}

const evaluation: fc.Arbitrary<SmallEvaluation> = fc.record({
  rooftop: fc.integer({ min: 1, max: 2 }),
  id: fc.integer({ min: 1, max: 3 }),
  day: fc.constantFrom('2026-01-31', '2026-02-01'),
  user: fc.constantFrom(null, 1, 2),
  currency: fc.constantFrom('AUD', 'KWD'),
  price: fc.constantFrom(null, '0', '10.125', '20000'),
  photos: fc.constantFrom(0, 1, 7, 8, 12),
  hero: fc.constantFrom(null, 'default', 'manual'),
  source: fc.constantFrom('CreatedAt' as const, 'EntryDate' as const),
  seconds: fc.constantFrom(-1, 0, 300, 301, 86_400, 86_401, 9_000_000),
  gone: fc.constantFrom(false, false, true),
  vin: fc.constantFrom(null, 'short', 'JTMDFREV90D123456', 'jtmdfrev90d123456'),
  recon: fc.constantFrom(null, '0', '1500.5'),
})

const line: fc.Arbitrary<SmallLine> = fc.record({
  rooftop: fc.integer({ min: 1, max: 2 }),
  id: fc.integer({ min: 1, max: 3 }),
  first: fc.integer({ min: 1, max: 2 }),
  line: fc.integer({ min: 1, max: 3 }),
  last: fc.constantFrom(null, 1, 2),
  type: fc.constantFrom(null, 'paint', 'tyres', 'Info'),
  cost: fc.constantFrom(null, '0', '99.995', '1500'),
})

/** What came of asking for the prices of an evaluation: `price`, an outcome without a price, or what is deleted. */
export interface SmallPriceRequest {
  readonly rooftop: number
  readonly id: number
  readonly outcome: 'price' | 'skipped' | 'failed' | 'processing' | 'no price' | 'no note'
  /** Source day of the answer. */
  readonly day: number
}

const asking: fc.Arbitrary<SmallPriceRequest> = fc.record({
  rooftop: fc.integer({ min: 1, max: 2 }),
  id: fc.integer({ min: 1, max: 3 }),
  outcome: fc.constantFrom(
    'price',
    'price',
    'skipped',
    'failed',
    'processing',
    'no price',
    'no note',
  ),
  day: fc.integer({ min: 1, max: 2 }),
})

const rooftop = fc.integer({ min: 1, max: 2 })
const id = fc.integer({ min: 1, max: 3 })

/** One thing that somebody does to the facts. */
export type FactChange =
  | {
      readonly does: 'insert' | 'upsert' | 'reload'
      readonly evaluation: SmallEvaluation
      readonly lines: readonly SmallLine[]
    }
  | {
      readonly does: 'move' | 'move back to front' | 'regroup' | 'mark' | 'delete' | 'delete all'
      readonly id: number
      readonly to: number
    }
  | { readonly does: 'lines' | 'edit lines' | 'delete lines'; readonly lines: readonly SmallLine[] }
  | { readonly does: 'ask'; readonly asking: SmallPriceRequest }

export const factChanges: fc.Arbitrary<FactChange> = fc.oneof(
  fc.record({ does: fc.constant('ask' as const), asking }),
  fc.record({
    does: fc.constantFrom('insert' as const, 'upsert' as const, 'reload' as const),
    evaluation,
    lines: fc.array(line, { maxLength: 3 }),
  }),
  fc.record({
    does: fc.constantFrom(
      'move' as const,
      'move back to front' as const,
      'regroup' as const,
      'mark' as const,
      'delete' as const,
      'delete all' as const,
    ),
    id,
    to: rooftop,
  }),
  fc.record({
    does: fc.constantFrom('lines' as const, 'edit lines' as const, 'delete lines' as const),
    lines: fc.array(line, { minLength: 1, maxLength: 4 }),
  }),
)
