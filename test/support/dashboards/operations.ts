import { type Dashboard, highest, of, perSecond, type Row } from './panels.ts'

const state: Row = {
  title: 'State',
  panels: [
    {
      title: 'Processes',
      description:
        'Running processes by version. Two versions for long: an upgrade is not complete.',
      good: 'One version, and as many processes as you started.',
      otherwise:
        'Restart the processes of the older version: they write nothing to a newer schema.',
      unit: 'suffix:processes',
      kind: 'number',
      width: 4,
      queries: [[`count by (version) (${of('forecourt_build_info')})`, '{{version}}']],
    },
    {
      title: 'Processes without a warehouse',
      description: 'Processes whose warehouse did not answer the newest scrape.',
      good: '0.',
      otherwise:
        'Start Postgres, and try the connection with "forecourt check". Processes continue by themselves.',
      unit: 'suffix:processes',
      kind: 'number',
      width: 4,
      badFrom: 1,
      queries: [[`count(${of('forecourt_warehouse_up')} == 0) or vector(0)`, 'processes']],
    },
    {
      title: 'Schema version',
      description: 'Newest migration of the warehouse.',
      good: 'The newest number that "forecourt migrate --status" lists.',
      otherwise: 'Run "forecourt migrate".',
      unit: 'prefix:migration ',
      kind: 'number',
      width: 4,
      queries: [[highest('forecourt_schema_version'), 'version']],
    },
    {
      title: 'Open alerts',
      description:
        'Alerts of Forecourt itself that are not resolved: "forecourt status" names them.',
      good: '0.',
      otherwise: '"forecourt status" names each alert and what to do about it.',
      unit: 'suffix:alerts',
      kind: 'number',
      width: 4,
      badFrom: 1,
      queries: [[highest('forecourt_alerts_open'), 'alerts']],
    },
    {
      title: 'Jobs late or failed',
      description:
        'Jobs without a good run in time, or whose newest run failed: "forecourt status" names them.',
      good: '0.',
      otherwise:
        'Check that "forecourt schedule" runs. "forecourt runs list" names the failed run, and "forecourt run" runs the job now.',
      unit: 'suffix:jobs',
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
      good: '0.',
      otherwise: 'The log of the process names the error. A slow reading ends after 5 seconds.',
      unit: 'suffix:parts',
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
      good: 'Almost only 200.',
      otherwise:
        'At many 429 lower http.requestsPerSecond; at 5xx or "none" wait, or report it to the service; at 401 or 403 run "forecourt check".',
      unit: 'reqps',
      queries: [
        [perSecond('forecourt_requests_total', 'service', 'status'), '{{service}} {{status}}'],
      ],
    },
    {
      title: 'Repeated requests',
      description: 'Requests that repeat an earlier one, by endpoint.',
      good: 'Far fewer than the requests by status.',
      otherwise:
        'Compare with the statuses: a service that is down or throttles causes repeats. They need no action of yours.',
      unit: 'reqps',
      queries: [
        [perSecond('forecourt_request_retries_total', 'service', 'endpoint'), '{{endpoint}}'],
      ],
    },
    {
      title: 'Time of an answer, 95th percentile',
      description: 'From sending a request to the end of its answer, by endpoint.',
      good: 'Below http.timeoutSeconds, and as on the days before.',
      otherwise: 'Lower http.concurrency. If it is slow with few requests too, ask the service.',
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
      good: 'Few requests wait, or they wait only while a backfill runs.',
      otherwise: 'Raise http.concurrency if the service permits it, or add a key.',
      unit: 'suffix:requests',
      queries: [
        [`sum by (key) (${of('forecourt_requests_in_flight')})`, '{{key}} in flight'],
        [`sum by (key) (${of('forecourt_requests_waiting')})`, '{{key}} waiting'],
      ],
    },
    {
      title: 'Limits of the keys',
      description: 'What the processes may do at once and a second. They adapt to the source.',
      good: 'The limits are at what the config allows, or climb to it.',
      otherwise:
        'A limit that stays low was throttled: see the statuses, and ask the service about the limit of the key.',
      unit: 'suffix:requests',
      queries: [
        [`sum by (key) (${of('forecourt_request_concurrency_limit')})`, '{{key}} at once'],
        [`min by (key) (${of('forecourt_request_rate_limit')})`, '{{key}} a second', 'reqps'],
        [highest('forecourt_key_processes', 'key'), '{{key}} processes', 'suffix:processes'],
      ],
    },
    {
      title: 'Blocked keys',
      description: 'Time until the next request may be sent, as the source asked to wait.',
      good: '0 s, apart from short peaks.',
      otherwise:
        'After an hour lower http.requestsPerSecond or http.concurrency, or ask the service about the limit of the key.',
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
      good: 'Some slices are active while others wait.',
      otherwise: 'Start "forecourt worker", or see in its log why it takes no work.',
      unit: 'suffix:slices',
      queries: [[highest('forecourt_queue_slices', 'state'), '{{state}}']],
    },
    {
      title: 'Oldest waiting slice',
      description: 'How long it has been ready. Slices of a backfill wait while a sync is at work.',
      good: 'Below 15 min, unless a backfill waits for a sync.',
      otherwise: 'If no slice is active, start "forecourt worker". If all are, start one more.',
      unit: 's',
      queries: [[highest('forecourt_queue_oldest_waiting_seconds'), 'age']],
    },
    {
      title: 'Runs at work',
      description: 'Runs that have not ended, by lane.',
      good: 'It returns to 0 between two jobs.',
      otherwise:
        '"forecourt runs list" names the run that does not end, and "forecourt runs show" what it waits for.',
      unit: 'suffix:runs',
      queries: [[highest('forecourt_runs_running', 'lane'), '{{lane}}']],
    },
    {
      title: 'Slices that ended',
      description: 'fenced: another worker took the slice over. parked: it is tried again later.',
      good: 'Almost only slices that were done.',
      otherwise:
        'At many fenced slices see the event loops below; for parked and failed slices "forecourt runs show" names the error.',
      unit: 'suffix:slices/s',
      queries: [
        [perSecond('forecourt_slices_total', 'stream', 'outcome'), '{{stream}} {{outcome}}'],
      ],
    },
    {
      title: 'Records',
      description: 'Records of committed slices by outcome.',
      good: 'No quarantined records.',
      otherwise: '"forecourt quarantine list" names the reason of each.',
      unit: 'suffix:records/s',
      queries: [[perSecond('forecourt_rows_total', 'outcome'), '{{outcome}}']],
    },
    {
      title: 'Listed',
      description: 'Records that the source listed, and windows that were certified.',
      good: 'Lists at the hours of the jobs.',
      otherwise: 'Where a job ran and nothing is listed, "forecourt runs show" names the reason.',
      unit: 'suffix:records/s',
      queries: [
        [perSecond('forecourt_records_listed_total', 'stream'), '{{stream}} records'],
        [perSecond('forecourt_windows_total', 'stream'), '{{stream}} windows', 'suffix:windows/s'],
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
      good: 'Less than two intervals of its schedule.',
      otherwise: '"forecourt runs list" shows how it ended. "forecourt run" runs it now.',
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
      good: 'It returns to 0 within minutes.',
      otherwise: 'Check that "forecourt worker" runs. "forecourt status" names what else waits.',
      unit: 'suffix:deliveries',
      queries: [[highest('forecourt_webhook_deliveries_waiting'), 'deliveries']],
    },
    {
      title: 'Oldest waiting delivery',
      description: 'Age of the oldest of them.',
      good: 'Below 1 h.',
      otherwise: 'Check that "forecourt worker" runs. "forecourt status" names what else waits.',
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
      good: 'Below one core most of the time.',
      otherwise: 'Start one more "forecourt worker" on another host, or give the host more cores.',
      unit: 'suffix:cores',
      queries: [[perSecond('process_cpu_seconds_total', 'instance'), '{{instance}}']],
    },
    {
      title: 'Memory',
      description: 'Resident memory, and what V8 uses of its heap.',
      good: 'Level after the first hour, and below the limit of the container.',
      otherwise: 'Restart a process whose memory climbs for days, and report it with its log.',
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
      good: 'Below 1 s.',
      otherwise: 'Give the host more CPU, or start fewer processes on it.',
      unit: 's',
      queries: [[of('nodejs_eventloop_lag_p99_seconds'), '{{instance}}']],
    },
    {
      title: 'Blocked event loops',
      description:
        'Blocks that were longer than heartbeats allow, and the share of time that they took.',
      good: '0.',
      otherwise: 'Give the host more CPU, or start fewer processes on it.',
      unit: 'suffix:blocks',
      queries: [
        [
          `increase(${of('forecourt_event_loop_blocked_total')}[$__rate_interval])`,
          '{{instance}} blocks',
        ],
        [
          `rate(${of('forecourt_event_loop_blocked_seconds_total')}[$__rate_interval])`,
          '{{instance}} share',
          'percentunit',
        ],
      ],
    },
    {
      title: 'Garbage collection',
      description: 'Share of time.',
      good: 'Below 10 %.',
      otherwise:
        'The process is near the limit of its memory: raise it, or lower http.concurrency.',
      unit: 'percentunit',
      queries: [[perSecond('nodejs_gc_duration_seconds_sum', 'instance'), '{{instance}}']],
    },
    {
      title: 'Open files',
      description: 'Share of the files and sockets that a process may open.',
      good: 'Below 80 %.',
      otherwise: 'Raise the limit of open files of the service (LimitNOFILE), and restart it.',
      unit: 'percentunit',
      queries: [[`${of('process_open_fds')} / ${of('process_max_fds')}`, '{{instance}}']],
    },
    {
      title: 'Age of the processes',
      description:
        'It falls to 0 with each start: a process that crashes again and again is a saw.',
      good: 'It climbs evenly since the last upgrade.',
      otherwise: 'The log of the process, or of the host, names what ended it.',
      unit: 's',
      queries: [[`time() - ${of('process_start_time_seconds')}`, '{{instance}}']],
    },
    {
      title: 'Reading the warehouse metrics',
      description:
        'How long the newest reading of each part took. After 5 s it is ended, and its metrics are missing.',
      good: 'Below 1 s.',
      otherwise:
        'Check what else loads Postgres, and whether autovacuum keeps pace. Scrape less often.',
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
