import { type Dashboard, highest, of, type Row } from './panels.ts'

const freshness: Row = {
  title: 'Freshness',
  panels: [
    {
      title: 'Late rooftops',
      description:
        'Rooftops without a good run within 26 hours: "forecourt status" names them and the reason.',
      kind: 'number',
      badFrom: 1,
      queries: [[highest('forecourt_stream_late_rooftops', 'stream'), '{{stream}}']],
    },
    {
      title: 'Rooftops that never had a good run',
      description: 'They are late too. A new rooftop needs its first sync.',
      kind: 'number',
      badFrom: 1,
      queries: [[highest('forecourt_stream_never_run_rooftops', 'stream'), '{{stream}}']],
    },
    {
      title: 'Rooftops',
      description: 'Rooftops in the config.',
      kind: 'number',
      queries: [[highest('forecourt_rooftops'), 'rooftops']],
    },
    {
      title: 'Largest lag',
      description:
        'Of the rooftop that is furthest behind: the time of the source minus the end of what was listed without a gap.',
      unit: 's',
      width: 12,
      queries: [[highest('forecourt_stream_lag_max_seconds', 'stream'), '{{stream}}']],
    },
    {
      title: 'Oldest good run',
      description: 'Age of the newest good run, of the rooftop with the oldest.',
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
      width: 6,
      queries: [[highest('forecourt_coverage_gaps', 'stream'), '{{stream}}']],
    },
    {
      title: 'Rooftops with gaps',
      description: '"forecourt status" names them.',
      width: 6,
      queries: [[highest('forecourt_coverage_gap_rooftops', 'stream'), '{{stream}}']],
    },
    {
      title: 'Windows that cannot be proved',
      description: 'The source may have cut their lists. "forecourt verify" names them.',
      width: 6,
      queries: [[highest('forecourt_unprovable_windows', 'stream'), '{{stream}}']],
    },
    {
      title: 'Quarantine',
      description: 'Records that did not fit. "forecourt quarantine list" shows why.',
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
      kind: 'bar',
      unit: 's',
      queries: [[greatestTen('forecourt_rooftop_stream_lag_seconds'), '{{rooftop}} {{stream}}']],
    },
    {
      title: 'Longest without a good run',
      description: 'The ten rooftops and streams with the oldest good run.',
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
      queries: [[highest('forecourt_billable_calls_today', 'budget'), '{{budget}}']],
    },
    {
      title: 'Billable calls allowed a day',
      description: 'The config names them under budget.',
      queries: [[highest('forecourt_billable_calls_allowed', 'budget'), '{{budget}}']],
    },
    {
      title: 'Billable calls of 24 hours',
      description:
        'The most of the calls of today within the last 24 hours: over a longer span it shows what each day cost.',
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
