import { stringify } from 'yaml'
import { z } from 'zod'
import { wireSettings } from '../values/wire.ts'

/** What the file is filled in with; without it, with examples in comments. */
export interface SandboxValues {
  readonly appraisal: { readonly baseUrl: string }
  readonly vehicleData: { readonly baseUrl: string; readonly apiKey: string }
  readonly keys: Readonly<Record<string, object>>
  readonly rooftops: readonly object[]
  /** The first day of the history. */
  readonly start: string
}

/** The text of a commented config file: every setting of contract section 2 with its default. */
export function configText(places: SandboxValues | null): string {
  return [
    heading,
    `appraisal:
  baseUrl: ${places?.appraisal.baseUrl ?? 'http://127.0.0.1:4010/v1'}   # the service's address, ends in /v1`,
    vehicleDataSection(places),
    warehouseSection,
    places ? sandboxAccess(places) : emptyAccess,
    syncSection(places?.start ?? '2024-01-01'),
    smallSections,
    budgetSection(places === null ? 0 : sandboxBudget),
    accessSection,
    jobsSection,
    alertsSection,
    serveSection,
    operationsSection,
    webhookSection,
    wireSection(),
  ]
    .map((part) => part.trim())
    .join('\n\n')
    .concat('\n')
}

const heading = `
# Forecourt. \${NAME} takes an environment variable, \${NAME:-default} with a default; a missing one is an error.
# Whatever is left out has the default that is shown here. "forecourt check" says what is wrong.`

function vehicleDataSection(places: SandboxValues | null): string {
  const { baseUrl, apiKey } = places?.vehicleData ?? {
    baseUrl: 'http://127.0.0.1:4011',
    apiKey: `\${FORECOURT_VEHICLE_DATA_KEY:-}`,
  }
  return `vehicleData:
  baseUrl: ${baseUrl}   # paths begin with /v1, so without it
  apiKey: ${apiKey}   # empty: no vehicle data`
}

const warehouseSection = `
warehouse:
  # Left out: an embedded Postgres under .forecourt/, started when it is needed. Else Postgres 15 or newer.
  # url: \${DATABASE_URL}`

const emptyAccess = `
# API keys by a name of your own. kind: partner (several rooftops) or dedicated (one). region: AU, US or GCC.
# user: id or email that is sent with /geteval, where the key needs it.
keys:
  # group-au: { value: "\${FORECOURT_KEY_AU}", kind: partner, region: AU, user: null }

# uid goes into X-Dealer-Id, the numeric dealerId (null: none) into the filter of the list. timezone: IANA.
# Left out: group (the dealer group: by the key), region (the key's), odometerUnit (mi in the US, else km).
rooftops:
  # - { uid: 7f3a, name: Northside, dealerId: 101, key: group-au, timezone: Australia/Sydney, currency: AUD }`

function sandboxAccess({ keys, rooftops }: SandboxValues): string {
  const flow = { collectionStyle: 'flow', lineWidth: 0 } as const
  const named = Object.entries(keys).map(([name, key]) => `  ${name}: ${stringify(key, flow)}`)
  const listed = rooftops.map((rooftop) => `  - ${stringify(rooftop, flow)}`)
  return [
    `# The keys of "forecourt sandbox" are no secrets. A real one comes from the environment: "\${FORECOURT_KEY_AU}".`,
    'keys:',
    ...named.map((line) => line.trimEnd()),
    '',
    'rooftops:',
    ...listed.map((line) => line.trimEnd()),
  ].join('\n')
}

function syncSection(start: string): string {
  return `
sync:
  start: ${start}          # the first instant that sync loads: a date (midnight UTC) or an ISO instant
  windowHours: 24            # the largest window asked for at once
  settleDays: 3              # a window younger than this is read and stored, but not yet settled
  recheckDays: 60            # listed again for late completions and edits
  deepRelistNights: 28       # every older window is listed again within this many nights
  rereadBudget: 5000         # known evaluations read again for one rooftop in one run, at most`
}

const smallSections = `
http:                        # per key, over all processes; adapts downwards and upwards by itself
  concurrency: 8             # calls in flight
  requestsPerSecond: null    # null: no ceiling until the source answers 429, then what was learnt
  timeoutSeconds: 30
  maxRetries: 6

pricing:
  reasoning: false           # ask for the pricing AI's reasoning too, and wait for it up to about 3 minutes
  budget: 2000               # evaluations priced for one rooftop in one run, at most

checks:
  lookForNewDays: 90         # evaluations younger than this many days are checked for new past checks
  lookEveryDays: 7           # at least this often
  dailyForDays: 3            # every night while it is so young
  backfillBudget: 5000       # requests of one "backfill vehicle-checks" for one rooftop, at most

links:
  refreshBeforeHours: 48
  keepAliveDays: null        # null: every link is renewed; else only those of evaluations younger than this
  token: \${FORECOURT_LINKS_TOKEN:-}   # opens the permalinks of "forecourt serve"
  archive:                   # keeps the PDFs themselves: "forecourt links archive"
    folder: null             # where, relative to this file; null: no archive
    hosts: []                # fetched from here alone: host, host:port or *.example.com, by https

stock:
  graceDays: 3               # a vehicle that the lists no longer name is off stock after this many days

prices:
  batchSize: 500             # to begin with; halved where the service takes fewer
  market: null               # null: AU, or the GCC country of the rooftop's currency; none: not sent

retention:
  rawDays: 90                # superseded payloads; the newest of each record stays
`

/** A paid call to the sandbox costs nothing. */
const sandboxBudget = 20

function budgetSection(allowed: number): string {
  return `budget:                      # billable calls allowed a day; 0 = never
  ppsrSearch: ${allowed}
  carHistory: ${allowed}
  historyCheck: ${allowed}
  prediction: ${allowed}`
}

const accessSection = `
access:                      # who may read the marts: "forecourt grant" makes the roles and these logins
  logins:
    # A role is bi_reader, bi_tenant (its dealer groups alone), bi_pii_reader (customers too) or forecourt_writer.
    # - { name: bi_tool, role: bi_reader, password: "\${BI_TOOL_PASSWORD:-}", connectionLimit: 20, statementTimeoutSeconds: 120 }
    # - { name: bi_north, role: bi_tenant, groups: ["key:group-au"], password: "\${BI_NORTH_PASSWORD:-}" }`

const jobsSection = `
jobs:                        # when "forecourt schedule" runs what; "forecourt run" lists the jobs
  # nightly: { schedule: "0 2 * * *", timezone: Australia/Sydney, enabled: true }`

const alertsSection = `
alerts:                      # one message by POST for each cause of trouble that lasts, and one when it is over
  url: \${FORECOURT_ALERTS_URL:-}
  format: json               # or slack, teams: as their webhooks take it
  afterMinutes: 5            # how long a problem must last before it is reported`

const serveSection = `
serve:                       # permalinks over HTTP; put a TLS proxy before it if other machines use it
  host: 127.0.0.1
  port: 4020`

const operationsSection = `
operations:                  # /healthz, /readyz and /metrics (Prometheus) of worker, schedule and serve
  host: 127.0.0.1
  port: null                 # null: no metrics; serve answers the first two on its own port
  perRooftop: false          # true: metrics of every rooftop too`

const webhookSection = `
webhooks:
  publicUrl: null            # where the service reaches "forecourt serve", by https; /webhooks is added if it lacks it
  authHeaderName: X-Forecourt-Token
  authHeaderValue: \${FORECOURT_WEBHOOK_TOKEN:-}
  previousAuthHeaderValue: null   # taken too while the value is changed
  events: [ON_COMPLETE, ON_EXPORT]   # ON_DRIVE_COMPLETED too: drives are stored as received`

/** What the documents leave open, as comments: [A §5] is section 5 of the appraisal document, [V §4] of the vehicle data one. */
function wireSection(): string {
  return [
    '# Names that the two documents leave open: change one here when the service speaks otherwise. A request setting is a',
    '# field name; a response setting is a dotted path ("" = the body itself) or a list whose first present path is used.',
    '# [A §5] = section 5 of the appraisal document, [V §4] = section 4 of the vehicle data document.',
    'wire:',
    ...wireLines(wireSettings, 1),
  ].join('\n')
}

function wireLines(schema: z.ZodType, depth: number): string[] {
  const inner = unwrap(schema)
  if (!(inner instanceof z.ZodObject)) return []
  return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, member]) => {
    const about = member.description ?? ''
    const margin = `  # ${'  '.repeat(depth - 1)}`
    if (unwrap(member) instanceof z.ZodObject) {
      const head = `${margin}${name}:${about === '' ? '' : `   # ${about}`}`
      return [head, ...wireLines(member, depth + 1)]
    }
    const line = `${margin}${name}: ${JSON.stringify(member.parse(undefined))}`
    return [about === '' ? line : `${line}   # ${about}`]
  })
}

function unwrap(schema: z.ZodType): z.ZodType {
  const inner = (schema.def as { innerType?: z.ZodType }).innerType
  return inner ? unwrap(inner) : schema
}
