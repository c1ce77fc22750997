import { Gauge, Registry } from 'prom-client'

/** A gauge that is read at the scrape, with its labels. */
interface GaugeDefinition {
  readonly help: string
  readonly labels: readonly string[]
}

const stream = ['stream']
const ofRooftop = ['rooftop', 'stream']
const ofKey = ['service', 'key']

/** Every gauge that is read at the scrape, by name. */
export const gauges = {
  forecourt_requests_in_flight: { help: 'Requests in flight in this process', labels: ofKey },
  forecourt_requests_waiting: {
    help: 'Requests of this process that wait to be sent',
    labels: ofKey,
  },
  forecourt_key_processes: {
    help: 'Processes that use the key now, including this one; they share its limits',
    labels: ofKey,
  },
  forecourt_request_concurrency_limit: {
    help: 'Requests that this process may have in flight at once; adapts to the source',
    labels: ofKey,
  },
  forecourt_request_rate_limit: {
    help: 'Requests a second that all processes together may send; missing while no limit is known',
    labels: ofKey,
  },
  forecourt_key_blocked_seconds: {
    help: 'Seconds until the next request may be sent, as the source asked to wait; 0: not blocked',
    labels: ofKey,
  },
  forecourt_warehouse_up: { help: '1: the warehouse answers this scrape', labels: [] },
  forecourt_warehouse_part_up: {
    help: '1: this part of the warehouse metrics could be read; 0: its metrics are missing',
    labels: ['part'],
  },
  forecourt_warehouse_part_duration_seconds: {
    help: 'How long the newest reading of this part took',
    labels: ['part'],
  },
  forecourt_schema_version: { help: 'Newest migration of the warehouse', labels: [] },
  forecourt_rooftops: { help: 'Rooftops in the config of this process', labels: [] },
  forecourt_stream_lag_max_seconds: {
    help: 'Largest lag of any rooftop: the source time minus the end of the span listed without a gap; for streams without windows, the time since the newest good run',
    labels: stream,
  },
  forecourt_stream_last_good_run_age_max_seconds: {
    help: 'Age of the newest good run, of the rooftop with the oldest; without rooftops that never had one',
    labels: stream,
  },
  forecourt_stream_late_rooftops: {
    help: 'Rooftops without a good run within 26 hours and without a run at work, including those that never had one',
    labels: stream,
  },
  forecourt_stream_never_run_rooftops: {
    help: 'Rooftops that never had a good run',
    labels: stream,
  },
  forecourt_quarantined_records: { help: 'Records in quarantine', labels: stream },
  forecourt_coverage_gaps: {
    help: 'Spans of time that were to be loaded and are in no certificate yet',
    labels: stream,
  },
  forecourt_coverage_gap_rooftops: {
    help: 'Rooftops with such a span; a running backfill has them too',
    labels: stream,
  },
  forecourt_unprovable_windows: {
    help: 'Windows that the source may have cut, so that they cannot be proved complete',
    labels: stream,
  },
  forecourt_rooftop_stream_lag_seconds: {
    help: 'Lag of one rooftop; only with operations.perRooftop',
    labels: ofRooftop,
  },
  forecourt_rooftop_last_good_run_age_seconds: {
    help: 'Age of the newest good run of one rooftop; only with operations.perRooftop',
    labels: ofRooftop,
  },
  forecourt_rooftop_quarantined_records: {
    help: 'Records of one rooftop in quarantine; only with operations.perRooftop',
    labels: ofRooftop,
  },
  forecourt_links_in_scope: { help: 'Signed links to PDFs that are to be renewed', labels: [] },
  forecourt_links_alive: {
    help: 'Of these, links that are valid for at least 48 hours',
    labels: [],
  },
  forecourt_links_objective_ratio: {
    help: 'The share of links in scope that must be valid for at least 48 hours',
    labels: [],
  },
  forecourt_billable_calls_today: {
    help: 'Billable calls of today (UTC), including those of unknown outcome',
    labels: ['budget'],
  },
  forecourt_billable_calls_allowed: { help: 'Billable calls allowed a day', labels: ['budget'] },
  forecourt_job_late: {
    help: '1: a slot of the job had no good run for longer than allowed',
    labels: ['job'],
  },
  forecourt_job_failed: { help: '1: the newest run of the job failed', labels: ['job'] },
  forecourt_job_last_good_timestamp_seconds: {
    help: 'When the job last ended well, Unix time; missing when it never did',
    labels: ['job'],
  },
  forecourt_alerts_open: { help: 'Alerts that are not resolved', labels: [] },
  forecourt_runs_running: { help: 'Runs that have not ended, by lane', labels: ['lane'] },
  forecourt_queue_slices: {
    help: 'Slices in the queue: active, waiting, or delayed until later',
    labels: ['state'],
  },
  forecourt_queue_oldest_waiting_seconds: {
    help: 'How long the oldest waiting slice has been ready; 0: none waits',
    labels: [],
  },
  forecourt_webhook_deliveries_waiting: {
    help: 'Deliveries of webhooks whose evaluation has not been read again yet',
    labels: [],
  },
  forecourt_webhook_oldest_waiting_seconds: {
    help: 'Age of the oldest of them; 0: none',
    labels: [],
  },
} as const satisfies Readonly<Record<string, GaugeDefinition>>

/** The name of a gauge that is read at the scrape. */
export type GaugeName = keyof typeof gauges

/** One series of a gauge at one moment. */
export interface Sample {
  readonly gauge: GaugeName
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** The samples as a registry. A gauge without a sample is left out: a 0 would seem to be a measured value. */
export function registryOf(samples: readonly Sample[]): Registry {
  const registry = new Registry()
  for (const [name, own] of Map.groupBy(samples, ({ gauge }) => gauge)) {
    const { help, labels }: GaugeDefinition = gauges[name]
    const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [registry] })
    for (const { labels: values = {}, value } of own) gauge.set({ ...values }, value)
  }
  return registry
}
