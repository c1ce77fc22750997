import { Gauge, Registry } from 'prom-client'

/** A gauge that is read at the scrape, with its labels. */
interface GaugeDefinition {
  readonly help: string
  readonly labels: readonly string[]
}

/** Gauges with the same labels. */
function withLabels<Name extends string>(
  labels: readonly string[],
  helps: Readonly<Record<Name, string>>,
): Readonly<Record<Name, GaugeDefinition>> {
  const defined = Object.entries<string>(helps).map(([name, help]) => [name, { help, labels }])
  return Object.fromEntries(defined) as Readonly<Record<Name, GaugeDefinition>>
}

/** Every gauge that is read at the scrape, by name. */
export const gauges = {
  ...withLabels(['service', 'key'], {
    forecourt_requests_in_flight: 'Requests in flight in this process',
    forecourt_requests_waiting: 'Requests of this process that wait to be sent',
    forecourt_key_processes:
      'Processes that use the key now, including this one; they share its limits',
    forecourt_request_concurrency_limit:
      'Requests that this process may have in flight at once; adapts to the source',
    forecourt_request_rate_limit:
      'Requests a second that all processes together may send; missing while no limit is known',
    forecourt_key_blocked_seconds:
      'Seconds until the next request may be sent, as the source asked to wait; 0: not blocked',
  }),
  ...withLabels(['service', 'key', 'state'], {
    forecourt_key_state:
      '1: the state of the key by its last answers: open, slowed, quotaUsed, resting or refused',
  }),
  ...withLabels(['service', 'key'], {
    forecourt_key_refused_rooftops: 'Rooftops where the service refuses the key now',
    forecourt_key_refused_calls: 'Calls that were refused since; 0: the key is not refused',
  }),
  ...withLabels([], {
    forecourt_warehouse_up: '1: the warehouse answers this scrape',
    forecourt_schema_version: 'Newest migration of the warehouse',
    forecourt_rooftops: 'Rooftops in the config of this process',
    forecourt_links_in_scope: 'Signed links to PDFs that are to be renewed',
    forecourt_links_alive: 'Of these, links that are valid for at least 48 hours',
    forecourt_links_objective_ratio:
      'The share of links in scope that must be valid for at least 48 hours',
    forecourt_alerts_open: 'Alerts that are not resolved',
    forecourt_queue_oldest_waiting_seconds:
      'How long the oldest waiting slice has been ready; 0: none waits',
    forecourt_webhook_deliveries_waiting:
      'Deliveries of webhooks whose evaluation has not been read again yet',
    forecourt_webhook_oldest_waiting_seconds: 'Age of the oldest of them; 0: none',
  }),
  ...withLabels(['part'], {
    forecourt_warehouse_part_up:
      '1: this part of the warehouse metrics could be read; 0: its metrics are missing',
    forecourt_warehouse_part_duration_seconds: 'How long the newest reading of this part took',
  }),
  ...withLabels(['stream'], {
    forecourt_stream_lag_max_seconds:
      'Largest lag of any rooftop: the source time minus the end of the span listed without a gap; for streams without windows, the time since the newest good run',
    forecourt_stream_last_good_run_age_max_seconds:
      'Age of the newest good run, of the rooftop with the oldest; without rooftops that never had one',
    forecourt_stream_late_rooftops:
      'Rooftops without a good run within 26 hours and without a run at work, including those that never had one',
    forecourt_stream_never_run_rooftops: 'Rooftops that never had a good run',
    forecourt_quarantined_records: 'Records in quarantine',
    forecourt_coverage_gaps: 'Spans of time that were to be loaded and are in no certificate yet',
    forecourt_coverage_gap_rooftops: 'Rooftops with such a span; a running backfill has them too',
    forecourt_unprovable_windows:
      'Windows that the source may have cut, so that they cannot be proved complete',
  }),
  ...withLabels(['rooftop', 'stream'], {
    forecourt_rooftop_stream_lag_seconds: 'Lag of one rooftop; only with operations.perRooftop',
    forecourt_rooftop_last_good_run_age_seconds:
      'Age of the newest good run of one rooftop; only with operations.perRooftop',
    forecourt_rooftop_quarantined_records:
      'Records of one rooftop in quarantine; only with operations.perRooftop',
  }),
  ...withLabels(['budget'], {
    forecourt_billable_calls_today:
      'Billable calls of today (UTC), including those of unknown outcome',
    forecourt_billable_calls_allowed: 'Billable calls allowed a day',
  }),
  ...withLabels(['job'], {
    forecourt_job_late: '1: a slot of the job had no good run for longer than allowed',
    forecourt_job_failed: '1: the newest run of the job failed',
    forecourt_job_last_good_timestamp_seconds:
      'When the job last ended well, Unix time; missing when it never did',
  }),
  ...withLabels(['lane'], {
    forecourt_runs_running: 'Runs that have not ended, by lane',
  }),
  ...withLabels(['state'], {
    forecourt_queue_slices: 'Slices in the queue: active, waiting, or delayed until later',
  }),
}

/** The name of a gauge that is read at the scrape. */
type GaugeName = keyof typeof gauges

/** One series of a gauge at one moment. */
export interface Sample {
  readonly gauge: GaugeName
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** One sample of each of these gauges with the same labels; null: it has no value now. */
export function gaugeSamples(
  values: Readonly<Partial<Record<GaugeName, number | null>>>,
  labels: Sample['labels'] = {},
): Sample[] {
  return Object.entries(values).flatMap(([gauge, value]) =>
    value === null ? [] : [{ gauge: gauge as GaugeName, labels, value }],
  )
}

/** The samples as a registry. A gauge without a sample is left out: a 0 would seem to be a measured value. */
export function gaugeRegistry(samples: readonly Sample[]): Registry {
  const registry = new Registry()
  for (const [name, gaugeSamples] of Map.groupBy(samples, ({ gauge }) => gauge)) {
    const { help, labels } = gauges[name]
    const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [registry] })
    for (const { labels: values = {}, value } of gaugeSamples) gauge.set({ ...values }, value)
  }
  return registry
}
