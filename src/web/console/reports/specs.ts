import { streamNames } from '../../../values/names.ts'
import { bars, lines, log, type ReportSpec, range, stacked } from './spec.ts'

const evaluations = ['evaluations']

/** The reports, in the order of their numbers. */
export const reportSpecs: readonly ReportSpec[] = [
  {
    view: 'rpt_01_appraisal_gap',
    isLong: true,
    question: 'How far is an appraisal from the guide, and what is left after reconditioning?',
    months: 3,
    streams: ['evaluations', 'pricing'],
    charts: [
      range('Appraised price minus wholesale guide', 'currency', 'month', 'gap_to_wholesale_first'),
      range(
        'Left after reconditioning, to the retail guide',
        'currency',
        'month',
        'gross_room_first',
      ),
    ],
    columns:
      'eval_id rooftop_name completed_date salesperson make model currency_code appraised_price wholesale_first gap_share gross_room_first',
    first: ['newest', 'month_start desc, completed_date desc, rooftop_id, eval_id desc'],
  },
  {
    view: 'rpt_02_look_to_book',
    isLong: true,
    question: 'Who buys what they appraise?',
    streams: evaluations,
    usesStockLists: true,
    charts: [
      bars('Share of the appraisals that were bought', 'share', 'rooftop', {
        bought:
          'sum(bought)::float8 / nullif(sum(appraisals) filter (where bought is not null), 0)',
      }),
    ],
    columns: 'salesperson rooftop_name month_start appraisals bought look_to_book_share',
    first: ['newest', 'month_start desc, rooftop_id, user_id'],
  },
  {
    view: 'rpt_03_recon_drift',
    question: 'How far do estimates of reconditioning move?',
    streams: evaluations,
    charts: [
      bars('Cost of reconditioning, first and latest', 'currency', 'recon_type', {
        first: 'sum(first_cost)',
        latest: 'sum(latest_cost)',
      }),
    ],
    columns:
      'recon_type rooftop_name month_start currency_code evaluations first_cost latest_cost drift drift_share',
    first: ['newest', 'month_start desc, rooftop_id, recon_type, currency_code'],
  },
  {
    view: 'rpt_04_time_to_complete',
    isLong: true,
    question: 'How long does an appraisal take?',
    streams: evaluations,
    charts: [
      log(
        'From creation to completion',
        'minutes',
        'rooftop',
        { median: 'max(median_minutes)', '90 of 100 were faster': 'max(p90_minutes)' },
        { newestMonth: true },
      ),
    ],
    columns:
      'rooftop_name month_start evaluations median_minutes p90_minutes over_a_day over_a_day_share',
    first: ['newest', 'month_start desc, rooftop_id'],
  },
  {
    view: 'rpt_05_aged_stock_price_move',
    isLong: true,
    question: 'Old stock: how do our price cuts compare with the market?',
    streams: ['stock-prices'],
    usesStockLists: true,
    charts: [
      bars('Average fall of the price since the car came in', 'currency', 'rooftop', {
        'our asking price': 'avg(own_cut)',
        'market retail': 'avg(-market_move)',
      }),
      range(
        'Asking price as a share of market retail',
        'share',
        'rooftop',
        'asking_to_market_share',
      ),
    ],
    columns:
      'stock_no rooftop_name make model model_year days_in_stock currency_code asking_price_first asking_price_now own_cut market_move asking_to_market_share',
    first: ['oldest', 'days_in_stock desc nulls last, rooftop_id, stock_no'],
  },
  {
    view: 'rpt_06_ppsr_exposure',
    question: 'Which cars in stock have a PPSR risk?',
    streams: ['vehicle-checks'],
    usesStockLists: true,
    charts: [
      stacked(
        'Cars in stock by PPSR risk',
        'cars',
        'rooftop',
        { cars: 'count(*)' },
        {
          by: "case when exposure in ('not asked', 'no answer', 'result unknown') then 'not known' when exposure in ('stolen', 'written off') then 'stolen or written off' when exposure in ('interest changed', 'interest on search') then 'security interest' else exposure end",
        },
      ),
    ],
    columns:
      'stock_no rooftop_name vin make model model_year acquired_on exposure days_since_search security_interest_count watch_status',
    first: [
      'riskiest',
      "array_position(array['stolen', 'written off', 'interest changed', 'interest on search', 'never searched', 'not asked', 'no answer', 'stale search', 'result unknown', 'clear'], exposure::text), days_since_search desc, rooftop_id, stock_no",
    ],
  },
  {
    view: 'rpt_07_photo_completeness',
    question: 'Which appraisals lack photos?',
    streams: evaluations,
    charts: [
      stacked('Photos of the appraisals', 'share', 'rooftop', {
        'eight or more, first one chosen': 'sum(complete)::float8 / sum(evaluations)',
        'eight or more, first one not chosen':
          'sum(evaluations - no_photo - under_eight - complete)::float8 / sum(evaluations)',
        'one to seven': 'sum(under_eight)::float8 / sum(evaluations)',
        'no photo': 'sum(no_photo)::float8 / sum(evaluations)',
      }),
    ],
    columns:
      'rooftop_name month_start evaluations photos complete under_eight no_photo no_photo_share hero_not_chosen',
    first: ['newest', 'month_start desc, rooftop_id'],
  },
  {
    view: 'rpt_08_pricing_coverage',
    late: { columns: 'average_age_days oldest_confirmed_at', key: 'rooftop_id month_start' },
    question: 'Which evaluations have a price of the pricing AI, and how old is it?',
    streams: ['pricing'],
    charts: [
      stacked('Appraisals by the answer of the pricing AI', 'cars', 'rooftop', {
        priced: 'sum(priced)',
        'cannot be priced': 'sum(cannot_be_priced)',
        failed: 'sum(failed)',
        'not asked': 'sum(not_asked)',
      }),
    ],
    columns:
      'rooftop_name month_start evaluations priced priced_share cannot_be_priced failed not_asked average_age_days oldest_confirmed_at',
    first: ['newest', 'month_start desc, rooftop_id'],
  },
  {
    view: 'rpt_09_ev_battery_health',
    isLong: true,
    question: 'How healthy are the batteries?',
    streams: evaluations,
    charts: [range('State of health of the battery', 'percent', 'make', 'battery_soh_pct')],
    columns:
      'eval_id rooftop_name completed_date make model model_year odometer_km battery_soh_pct reading_source is_reading_missing',
    first: ['newest', 'month_start desc, completed_date desc, rooftop_id, eval_id desc'],
  },
  {
    view: 'rpt_10_appraisal_volume',
    question: 'How many appraisals, and worth how much?',
    streams: evaluations,
    charts: [
      lines('Appraisals by week', 'cars', 'week', { appraisals: 'sum(appraisals)' }),
      lines('Value of the appraisals by week', 'currency', 'week', { value: 'sum(value_sum)' }),
    ],
    columns:
      'rooftop_name completed_date currency_code appraisals with_price value_sum average_price',
    first: ['newest', 'completed_date desc, rooftop_id, currency_code'],
  },
  {
    view: 'rpt_11_post_completion_changes',
    isLong: true,
    question: 'What was changed after completion?',
    streams: evaluations,
    charts: [
      lines('Changes after completion by month', 'changes', 'month', {
        price: 'sum(price_changes)',
        reconditioning: 'sum(recon_changes)',
        salesperson: 'sum(reassignments)',
      }),
      bars('Sum of the price changes', 'currency', 'rooftop', {
        up: 'sum(price_increase_sum)',
        down: 'sum(price_decrease_sum)',
      }),
    ],
    columns:
      'salesperson rooftop_name month_start currency_code changes evaluations price_changes price_increase_sum price_decrease_sum reassignments recon_changes',
    first: ['newest', 'month_start desc, rooftop_id, user_id, currency_code'],
  },
  {
    view: 'rpt_12_ai_price_accuracy',
    isLong: true,
    question: 'How near was the AI to the first asking price?',
    streams: ['pricing'],
    usesStockLists: true,
    charts: [
      range('First asking price minus the retail price of the AI', 'currency', 'month', 'error'),
      range('The same as a share of the asking price', 'share', 'rooftop', 'error_share'),
    ],
    columns:
      'stock_no rooftop_name make model model_year acquired_on currency_code ai_retail_at_appraisal asking_price_first error error_share',
    first: ['newest', 'month_start desc, acquired_on desc, rooftop_id, stock_no'],
  },
  {
    view: 'rpt_13_repeat_appraisals',
    isLong: true,
    question: 'Which cars were appraised more than once?',
    streams: evaluations,
    usesStockLists: true,
    charts: [
      range('Lowest to highest price of one car', 'currency', 'group_code', 'price_spread'),
      bars('Cars that were appraised more than once', 'cars', 'group_code', {
        all: 'count(distinct vin)',
        bought:
          'case when count(is_bought) > 0 then count(distinct vin) filter (where is_bought) end',
      }),
    ],
    columns:
      'vin group_code currency_code evaluations rooftops first_on last_on lowest_price highest_price price_spread is_bought',
    first: ['newest', 'last_on desc, group_code, vin, currency_code'],
  },
  {
    view: 'rpt_14_link_capture_funnel',
    isLong: true,
    question: 'Do capture links do as well as people?',
    streams: evaluations,
    usesStockLists: true,
    charts: [
      lines(
        'Photos of an appraisal, on average',
        'photos',
        'month',
        { photos: 'sum(photos)::float8 / nullif(sum(evaluations), 0)' },
        { by: "case when is_link_captured then 'link' else 'salesperson' end" },
      ),
      bars('Share of the appraisals that were bought', 'share', 'rooftop', {
        link: 'sum(bought) filter (where is_link_captured)::float8 / nullif(sum(evaluations) filter (where is_link_captured and bought is not null), 0)',
        salesperson:
          'sum(bought) filter (where not is_link_captured)::float8 / nullif(sum(evaluations) filter (where not is_link_captured and bought is not null), 0)',
      }),
    ],
    columns:
      'rooftop_name month_start is_link_captured evaluations average_photos no_photo_share median_minutes bought bought_share',
    first: ['newest', 'month_start desc, rooftop_id, is_link_captured'],
  },
  {
    view: 'rpt_15_data_freshness',
    question: "Can I trust today's numbers?",
    streams: streamNames,
    charts: [
      bars(
        'Hours from the end of what was listed to now',
        'hours',
        'rooftop',
        { 'hours behind': 'max(hours_behind)' },
        { mark: { at: 26, name: '26 hours' } },
      ),
    ],
    columns:
      'rooftop_name may_trust reason last_good_run_at covered_to hours_behind open_gaps quarantined streams_failing newest_completed_at',
    first: ['furthest behind', 'may_trust, hours_behind desc, rooftop_id'],
  },
]
