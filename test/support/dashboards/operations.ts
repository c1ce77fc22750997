import { type Dashboard, highest, of, perSecond, type Row } from './panels.ts'

const state: Row = {
  title: 'State',
  panels: [
    {
      title: 'Processes',
      description:
        'Running processes by version. Two versions for long: an upgrade is not complete.',
      kind: 'number',
      width: 4,
      queries: [[`count by (version) (${of('forecourt_build_info')})`, '{{version}}']],
    },
    {
      title: 'Processes without a warehouse',
      description: 'Processes whose warehouse did not answer the newest scrape.',
      kind: 'number',
      width: 4,
      badFrom: 1,
      queries: [[`count(${of('forecourt_warehouse_up')} == 0) or vector(0)`, 'processes']],
    },
    {
      title: 'Schema version',
      description: 'Newest migration of the warehouse.',
      kind: 'number',
      width: 4,
      queries: [[highest('forecourt_schema_version'), 'version']],
    },
    {
      title: 'Open alerts',
      description:
        'Alerts of Forecourt itself that are not resolved: "forecourt status" names them.',
      kind: 'number',
      width: 4,
      badFrom: 1,
      queries: [[highest('forecourt_alerts_open'), 'alerts']],
    },
    {
      title: 'Jobs late or failed',
      description:
        'Jobs without a good run in time, or whose newest run failed: "forecourt status" names them.',
      kind: 'number',
      width: 4,
      badFrom: 1,
      queries: [
        [`sum(${highest('forecourt_job_late', 'exported_job')}) or vector(0)`, 'late'],
        [`sum(${highest('forecourt_job_failed', 'exported_job')}) or vector(0)`, 'failed'],
      ],
    },
    {
      title: 'Metrics that could not be read',
      description:
        'Parts of the warehouse metrics that are missing, so that panels and alerts of them are silent.',
      kind: 'number',
      width: 4,
      badFrom: 1,
      queries: [[`count(${of('forecourt_warehouse_part_up')} == 0) or vector(0)`, 'parts']],
    },
  ],
}

const requests: Row = {
  title: 'Requests to the services',
  panels: [
    {
      title: 'Requests by status',
      description: '429 is throttling and slows the key down. "none": no complete answer came.',
      unit: 'reqps',
      queries: [
        [perSecond('forecourt_requests_total', 'service', 'status'), '{{service}} {{status}}'],
      ],
    },
    {
      title: 'Repeated requests',
      description: 'Requests that repeat an earlier one, by endpoint.',
      unit: 'reqps',
      queries: [
        [perSecond('forecourt_request_retries_total', 'service', 'endpoint'), '{{endpoint}}'],
      ],
    },
    {
      title: 'Time of an answer, 95th percentile',
      description: 'From sending a request to the end of its answer, by endpoint.',
      unit: 's',
      queries: [
        [
          `histogram_quantile(0.95, ${perSecond('forecourt_request_duration_seconds_bucket', 'endpoint', 'le')})`,
          '{{endpoint}}',
        ],
      ],
    },
    {
      title: 'In flight and waiting',
      description:
        'Requests of all processes by key. Many that wait: the limits of the key are reached.',
      queries: [
        [`sum by (key) (${of('forecourt_requests_in_flight')})`, '{{key}} in flight'],
        [`sum by (key) (${of('forecourt_requests_waiting')})`, '{{key}} waiting'],
      ],
    },
    {
      title: 'Limits of the keys',
      description: 'What the processes may do at once and a second. They adapt to the source.',
      queries: [
        [`sum by (key) (${of('forecourt_request_concurrency_limit')})`, '{{key}} at once'],
        [`min by (key) (${of('forecourt_request_rate_limit')})`, '{{key}} a second'],
        [highest('forecourt_key_processes', 'key'), '{{key}} processes'],
      ],
    },
    {
      title: 'Blocked keys',
      description: 'Time until the next request may be sent, as the source asked to wait.',
      unit: 's',
      queries: [[highest('forecourt_key_blocked_seconds', 'key'), '{{key}}']],
    },
  ],
}

const work: Row = {
  title: 'Work',
  panels: [
    {
      title: 'Queue',
      description: 'Slices by state. Some wait and none is active: no worker runs.',
      queries: [[highest('forecourt_queue_slices', 'state'), '{{state}}']],
    },
    {
      title: 'Oldest waiting slice',
      description: 'How long it has been ready. Slices of a backfill wait while a sync is at work.',
      unit: 's',
      queries: [[highest('forecourt_queue_oldest_waiting_seconds'), 'age']],
    },
    {
      title: 'Runs at work',
      description: 'Runs that have not ended, by lane.',
      queries: [[highest('forecourt_runs_running', 'lane'), '{{lane}}']],
    },
    {
      title: 'Slices that ended',
      description: 'fenced: another worker took the slice over. parked: it is tried again later.',
      unit: 'ops',
      queries: [
        [perSecond('forecourt_slices_total', 'stream', 'outcome'), '{{stream}} {{outcome}}'],
      ],
    },
    {
      title: 'Records',
      description: 'Records of committed slices by outcome.',
      unit: 'ops',
      queries: [[perSecond('forecourt_rows_total', 'outcome'), '{{outcome}}']],
    },
    {
      title: 'Listed',
      description: 'Records that the source listed, and windows that were certified.',
      unit: 'ops',
      queries: [
        [perSecond('forecourt_records_listed_total', 'stream'), '{{stream}} records'],
        [perSecond('forecourt_windows_total', 'stream'), '{{stream}} windows'],
      ],
    },
  ],
}

const jobsAndWebhooks: Row = {
  title: 'Jobs and webhooks',
  panels: [
    {
      title: 'Since the last good run of a job',
      description: 'A job that never ended well is not shown.',
      unit: 's',
      queries: [
        [
          `time() - ${highest('forecourt_job_last_good_timestamp_seconds', 'exported_job')}`,
          '{{exported_job}}',
        ],
      ],
    },
    {
      title: 'Waiting deliveries of webhooks',
      description: 'Deliveries whose evaluation has not been read again yet.',
      queries: [[highest('forecourt_webhook_deliveries_waiting'), 'deliveries']],
    },
    {
      title: 'Oldest waiting delivery',
      description: 'Age of the oldest of them.',
      unit: 's',
      queries: [[highest('forecourt_webhook_oldest_waiting_seconds'), 'age']],
    },
  ],
}

const processes: Row = {
  title: 'Processes',
  panels: [
    {
      title: 'CPU',
      description: 'Cores in use. A process uses little more than one.',
      queries: [[perSecond('process_cpu_seconds_total', 'instance'), '{{instance}}']],
    },
    {
      title: 'Memory',
      description: 'Resident memory, and what V8 uses of its heap.',
      unit: 'bytes',
      queries: [
        [of('process_resident_memory_bytes'), '{{instance}} resident'],
        [of('nodejs_heap_size_used_bytes'), '{{instance}} heap'],
      ],
    },
    {
      title: 'Event loop',
      description:
        '99th percentile of the lag. A long one delays heartbeats, and another worker takes over.',
      unit: 's',
      queries: [[of('nodejs_eventloop_lag_p99_seconds'), '{{instance}}']],
    },
    {
      title: 'Blocked event loops',
      description:
        'Blocks that were longer than heartbeats allow, and the share of time that they took.',
      queries: [
        [
          `increase(${of('forecourt_event_loop_blocked_total')}[$__rate_interval])`,
          '{{instance}} blocks',
        ],
        [
          `rate(${of('forecourt_event_loop_blocked_seconds_total')}[$__rate_interval])`,
          '{{instance}} share',
        ],
      ],
    },
    {
      title: 'Garbage collection',
      description: 'Share of time.',
      unit: 'percentunit',
      queries: [[perSecond('nodejs_gc_duration_seconds_sum', 'instance'), '{{instance}}']],
    },
    {
      title: 'Open files',
      description: 'Share of the files and sockets that a process may open.',
      unit: 'percentunit',
      queries: [[`${of('process_open_fds')} / ${of('process_max_fds')}`, '{{instance}}']],
    },
    {
      title: 'Age of the processes',
      description:
        'It falls to 0 with each start: a process that crashes again and again is a saw.',
      unit: 's',
      queries: [[`time() - ${of('process_start_time_seconds')}`, '{{instance}}']],
    },
    {
      title: 'Reading the warehouse metrics',
      description:
        'How long the newest reading of each part took. After 5 s it is ended, and its metrics are missing.',
      unit: 's',
      queries: [[highest('forecourt_warehouse_part_duration_seconds', 'part'), '{{part}}']],
    },
  ],
}

/** Processes, requests, work, jobs and webhooks: for the people who run Forecourt. */
export const operationsDashboard: Dashboard = {
  uid: 'forecourt-operations',
  title: 'Forecourt: operations',
  description: 'Processes, requests to the services, work, jobs and webhooks.',
  from: 'now-6h',
  rows: [state, requests, work, jobsAndWebhooks, processes],
}
