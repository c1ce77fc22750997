/** Series by their text, with one value for all minutes or the values in the notation of promtool. */
export type Input = Readonly<Record<string, number | string>>

/** An alert, when it is active, and when it is not. */
export interface AlertCase {
  readonly alert: string
  /** Minutes after which the first state is an active alert. */
  readonly after: number
  readonly active: Input
  /** States that are not faults. */
  readonly silent: readonly Input[]
}

const one = 'job="forecourt", instance="one"'
const two = 'job="forecourt", instance="two"'
const day = 24 * 60

/** The same of two processes: they read the same warehouse, and are one alert. */
function ofBoth(metric: string, labels: string, value: number | string): Input {
  return Object.fromEntries(
    [one, two].map((process) => [
      `${metric}{${[process, labels].filter(Boolean).join(', ')}}`,
      value,
    ]),
  )
}

/** Requests of a key a minute, by status. */
function requests(counts: Readonly<Record<string, number>>): Input {
  const of = `${one}, service="appraisal", endpoint="/geteval", key="group-au"`
  return Object.fromEntries(
    Object.entries(counts).map(([status, count]) => [
      `forecourt_requests_total{${of}, status="${status}"}`,
      `0+${count}x60`,
    ]),
  )
}

const links = (alive: number, inScope: number): Input => ({
  ...ofBoth('forecourt_links_alive', '', alive),
  ...ofBoth('forecourt_links_in_scope', '', inScope),
  ...ofBoth('forecourt_links_objective_ratio', '', 0.99),
})

const queue = (oldest: number, active: number): Input => ({
  ...ofBoth('forecourt_queue_oldest_waiting_seconds', '', oldest),
  ...ofBoth('forecourt_queue_slices', 'state="active"', active),
  ...ofBoth('forecourt_queue_slices', 'state="waiting"', 40),
})

const gaps = (count: number, backfills: number): Input => ({
  ...ofBoth('forecourt_coverage_gaps', 'stream="evaluations"', count),
  ...ofBoth('forecourt_runs_running', 'lane="background"', backfills),
  ...ofBoth('forecourt_runs_running', 'lane="foreground"', 1),
})

const spend = (today: number, allowed: number): Input => ({
  ...ofBoth('forecourt_billable_calls_today', 'budget="ppsrSearch"', today),
  ...ofBoth('forecourt_billable_calls_allowed', 'budget="ppsrSearch"', allowed),
})

const part = (isUp: number, isWarehouseUp: number): Input => ({
  [`forecourt_warehouse_part_up{${one}, part="links"}`]: isUp,
  [`forecourt_warehouse_part_up{${one}, part="queue"}`]: 1,
  [`forecourt_warehouse_up{${one}}`]: isWarehouseUp,
})

/** An alert on one metric of the warehouse: active at the first value, silent at the second. */
function simple(
  alert: string,
  after: number,
  [metric, labels, bad, good]: readonly [string, string, number, number],
): AlertCase {
  const [active, silent] = [bad, good].map((value) => ofBoth(metric, labels, value))
  return { alert, after, active: active!, silent: [silent!] }
}

export const alertCases: readonly AlertCase[] = [
  {
    alert: 'ForecourtProcessDown',
    after: 6,
    active: { [`up{${one}}`]: 0, [`up{${two}}`]: 1 },
    silent: [
      { [`up{${one}}`]: 1, 'up{job="another", instance="one"}': 0 },
      { [`up{${one}}`]: '0 1+0x30' },
    ],
  },
  {
    alert: 'ForecourtAbsent',
    after: 11,
    active: {},
    silent: [{ [`forecourt_build_info{${one}, version="1"}`]: 1 }],
  },
  {
    alert: 'ForecourtVersionsDiffer',
    after: 61,
    active: {
      [`forecourt_build_info{${one}, version="1"}`]: 1,
      [`forecourt_build_info{${two}, version="2"}`]: 1,
    },
    silent: [ofBoth('forecourt_build_info', 'version="1"', 1)],
  },
  {
    alert: 'ForecourtEventLoopBlocked',
    after: 30,
    active: { [`forecourt_event_loop_blocked_total{${one}}`]: '0+1x30' },
    silent: [{ [`forecourt_event_loop_blocked_total{${one}}`]: '0+0x10 1+0x20' }],
  },
  {
    alert: 'ForecourtWarehouseDown',
    after: 6,
    active: { [`forecourt_warehouse_up{${one}}`]: 0 },
    silent: [{ [`forecourt_warehouse_up{${one}}`]: 1 }],
  },
  {
    alert: 'ForecourtMetricsMissing',
    after: 31,
    active: part(0, 1),
    silent: [part(1, 1), part(0, 0)],
  },
  simple('ForecourtStreamLate', 31, ['forecourt_stream_late_rooftops', 'stream="pricing"', 2, 0]),
  simple('ForecourtJobLate', 16, ['forecourt_job_late', 'exported_job="nightly"', 1, 0]),
  simple('ForecourtJobFailed', 16, ['forecourt_job_failed', 'exported_job="nightly"', 1, 0]),
  {
    alert: 'ForecourtCoverageGap',
    after: day + 1,
    active: gaps(3, 0),
    silent: [gaps(0, 0), gaps(3, 1)],
  },
  simple('ForecourtUnprovableWindow', day + 1, [
    'forecourt_unprovable_windows',
    'stream="evaluations"',
    1,
    0,
  ]),
  simple('ForecourtQuarantine', day + 1, [
    'forecourt_quarantined_records',
    'stream="evaluations"',
    7,
    0,
  ]),
  {
    alert: 'ForecourtLinksExpire',
    after: 121,
    active: links(90, 100),
    silent: [links(99, 100), links(0, 0)],
  },
  {
    alert: 'ForecourtQueueStalled',
    after: 16,
    active: queue(1000, 0),
    silent: [queue(1000, 1), queue(60, 0)],
  },
  simple('ForecourtWebhooksWait', 16, ['forecourt_webhook_oldest_waiting_seconds', '', 3700, 60]),
  {
    alert: 'ForecourtRequestsFail',
    after: 25,
    active: requests({ '2xx': 80, '5xx': 10, none: 10 }),
    silent: [requests({ '2xx': 50, '4xx': 30, '429': 20 }), requests({ '2xx': 95, '5xx': 5 })],
  },
  simple('ForecourtKeyRefused', 16, [
    'forecourt_key_refused_rooftops',
    'service="appraisal", key="group-au"',
    3,
    0,
  ]),
  simple('ForecourtKeyBlocked', 61, [
    'forecourt_key_blocked_seconds',
    'service="appraisal", key="group-au"',
    900,
    0,
  ]),
  {
    alert: 'ForecourtBudgetNearlyUsed',
    after: 1,
    active: spend(9, 10),
    silent: [spend(8, 10), spend(0, 0)],
  },
  {
    alert: 'ForecourtBudgetExceeded',
    after: 1,
    active: spend(11, 10),
    silent: [spend(10, 10), spend(0, 0)],
  },
]
