import { type Dashboard, highest, of, type Row } from './panels.ts'

const freshness: Row = {
  title: 'Freshness',
  panels: [
    {
      title: 'Late rooftops',
      description:
        'Rooftops without a good run within 26 hours: "forecourt status" names them and the reason.',
      good: '0.',
      otherwise:
        '"forecourt status" names them and the reason. "forecourt sync" loads what is missing.',
      unit: 'suffix:rooftops',
      kind: 'number',
      badFrom: 1,
      queries: [[highest('forecourt_stream_late_rooftops', 'stream'), '{{stream}}']],
    },
    {
      title: 'Rooftops that never had a good run',
      description: 'They are late too. A new rooftop needs its first sync.',
      good: '0, apart from the first night of a new rooftop.',
      otherwise: '"forecourt check" tries its key, and "forecourt sync" loads it.',
      unit: 'suffix:rooftops',
      kind: 'number',
      badFrom: 1,
      queries: [[highest('forecourt_stream_never_run_rooftops', 'stream'), '{{stream}}']],
    },
    {
      title: 'Rooftops',
      description: 'Rooftops in the config.',
      good: 'As many as you expect.',
      otherwise: 'Compare the config with your list of rooftops. "forecourt check" reads it.',
      unit: 'suffix:rooftops',
      kind: 'number',
      queries: [[highest('forecourt_rooftops'), 'rooftops']],
    },
    {
      title: 'Largest lag',
      description:
        'Of the rooftop that is furthest behind: the time of the source minus the end of what was listed without a gap.',
      good: 'Below 26 h.',
      otherwise: '"forecourt status" names the rooftop. "forecourt sync" loads what is missing.',
      unit: 's',
      width: 12,
      queries: [[highest('forecourt_stream_lag_max_seconds', 'stream'), '{{stream}}']],
    },
    {
      title: 'Oldest good run',
      description: 'Age of the newest good run, of the rooftop with the oldest.',
      good: 'Below 26 h.',
      otherwise:
        '"forecourt status" names the rooftop, and "forecourt runs list" how its newest runs ended.',
      unit: 's',
      width: 12,
      queries: [
        [highest('forecourt_stream_last_good_run_age_max_seconds', 'stream'), '{{stream}}'],
      ],
    },
  ],
}

const completeness: Row = {
  title: 'Completeness',
  panels: [
    {
      title: 'Gaps',
      description:
        'Spans of time that were to be loaded and are in no certificate. A running backfill has them too. "forecourt sync" loads them.',
      good: '0, unless a backfill runs.',
      otherwise:
        '"forecourt status" names the rooftops. "forecourt sync", or "forecourt backfill" for older spans, loads the gaps.',
      unit: 'suffix:gaps',
      width: 6,
      queries: [[highest('forecourt_coverage_gaps', 'stream'), '{{stream}}']],
    },
    {
      title: 'Rooftops with gaps',
      description: '"forecourt status" names them.',
      good: '0, unless a backfill runs.',
      otherwise:
        '"forecourt status" names them. "forecourt sync", or "forecourt backfill" for older spans, loads the gaps.',
      unit: 'suffix:rooftops',
      width: 6,
      queries: [[highest('forecourt_coverage_gap_rooftops', 'stream'), '{{stream}}']],
    },
    {
      title: 'Windows that cannot be proved',
      description: 'The source may have cut their lists. "forecourt verify" names them.',
      good: '0.',
      otherwise:
        '"forecourt verify" names them. Ask the service for the evaluations of these seconds.',
      unit: 'suffix:windows',
      width: 6,
      queries: [[highest('forecourt_unprovable_windows', 'stream'), '{{stream}}']],
    },
    {
      title: 'Quarantine',
      description: 'Records that did not fit. "forecourt quarantine list" shows why.',
      good: '0.',
      otherwise:
        '"forecourt quarantine list" shows why, and "forecourt quarantine retry" reads them again.',
      unit: 'suffix:records',
      width: 6,
      queries: [[highest('forecourt_quarantined_records', 'stream'), '{{stream}}']],
    },
  ],
}

/** The ten greatest: a deployment of thousands of rooftops would draw as many lines. */
const greatestTen = (metric: string) => `topk(10, ${highest(metric, 'rooftop', 'stream')})`

const rooftops: Row = {
  title: 'Rooftops (only with operations.perRooftop)',
  panels: [
    {
      title: 'Furthest behind',
      description: 'The ten rooftops and streams with the largest lag.',
      good: 'Each below 26 h.',
      otherwise:
        '"forecourt status" gives the reason. "forecourt sync --rooftop" loads one rooftop.',
      kind: 'bar',
      unit: 's',
      queries: [[greatestTen('forecourt_rooftop_stream_lag_seconds'), '{{rooftop}} {{stream}}']],
    },
    {
      title: 'Longest without a good run',
      description: 'The ten rooftops and streams with the oldest good run.',
      good: 'Each below 26 h.',
      otherwise:
        '"forecourt status" gives the reason. "forecourt sync --rooftop" loads one rooftop.',
      kind: 'bar',
      unit: 's',
      badFrom: 26 * 3600,
      queries: [
        [greatestTen('forecourt_rooftop_last_good_run_age_seconds'), '{{rooftop}} {{stream}}'],
      ],
    },
    {
      title: 'Most in quarantine',
      description: 'The ten rooftops and streams with most records in quarantine.',
      good: 'None.',
      otherwise:
        '"forecourt quarantine list" shows why, and "forecourt quarantine retry" reads them again.',
      unit: 'suffix:records',
      kind: 'bar',
      queries: [[greatestTen('forecourt_rooftop_quarantined_records'), '{{rooftop}} {{stream}}']],
    },
  ],
}

const links: Row = {
  title: 'Links to PDFs',
  panels: [
    {
      title: 'Links that are valid for 48 hours',
      description:
        'Of the links that are to be renewed, and the objective. "forecourt links refresh" renews them.',
      good: 'Above the objective.',
      otherwise: '"forecourt links refresh" renews them, and reports which it could not renew.',
      unit: 'percentunit',
      width: 12,
      queries: [
        [
          `${highest('forecourt_links_alive')} / (${highest('forecourt_links_in_scope')} > 0)`,
          'valid',
        ],
        [highest('forecourt_links_objective_ratio'), 'objective'],
      ],
    },
    {
      title: 'Links',
      description:
        'Links that are to be renewed, and how many of them are valid for at least 48 hours.',
      good: 'Both lines are the same.',
      otherwise: '"forecourt links refresh" renews them, and reports which it could not renew.',
      unit: 'suffix:links',
      width: 12,
      queries: [
        [highest('forecourt_links_in_scope'), 'to be renewed'],
        [highest('forecourt_links_alive'), 'valid'],
      ],
    },
  ],
}

const spend: Row = {
  title: 'Spend',
  panels: [
    {
      title: 'Budgets used today',
      description: 'Billable calls of today (UTC) of those allowed. A budget of 0 has no share.',
      good: 'Below 90 %.',
      otherwise:
        'Further calls are refused until midnight UTC. Raise the budget in the config if they are wanted.',
      kind: 'bar',
      unit: 'percentunit',
      badFrom: 0.9,
      queries: [
        [
          `${highest('forecourt_billable_calls_today', 'budget')} / (${highest('forecourt_billable_calls_allowed', 'budget')} > 0)`,
          '{{budget}}',
        ],
      ],
    },
    {
      title: 'Billable calls of today',
      description: 'Since midnight UTC, including those of unknown outcome.',
      good: 'No more than allowed a day.',
      otherwise:
        'The console lists the calls under Spend. Lower the budget in the config to stop them.',
      unit: 'suffix:calls',
      queries: [[highest('forecourt_billable_calls_today', 'budget'), '{{budget}}']],
    },
    {
      title: 'Billable calls allowed a day',
      description: 'The config names them under budget.',
      good: 'What you are ready to pay for a day.',
      otherwise: 'Change the budget in the config. 0 allows no call.',
      unit: 'suffix:calls',
      queries: [[highest('forecourt_billable_calls_allowed', 'budget'), '{{budget}}']],
    },
    {
      title: 'Billable calls of 24 hours',
      description:
        'The most of the calls of today within the last 24 hours: over a longer span it shows what each day cost.',
      good: 'As on the days before.',
      otherwise:
        'The console lists the calls under Spend. Lower the budget in the config to stop them.',
      unit: 'suffix:calls',
      width: 24,
      queries: [
        [
          `max by (budget) (max_over_time(${of('forecourt_billable_calls_today')}[1d]))`,
          '{{budget}}',
        ],
      ],
    },
  ],
}

/** How fresh and complete the warehouse is, and what was paid: for the people who use its numbers. */
export const freshnessDashboard: Dashboard = {
  uid: 'forecourt-freshness',
  title: 'Forecourt: freshness and spend',
  description: 'How fresh and complete each stream is, links to PDFs, and billable calls.',
  from: 'now-7d',
  rows: [freshness, completeness, rooftops, links, spend],
}
