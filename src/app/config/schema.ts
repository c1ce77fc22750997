import { z } from 'zod'
import { wireSettings } from '../../values/wire.ts'
import { accessSettings } from './access.ts'
import { alertSettings } from './alerts.ts'
import { consoleSettings } from './console.ts'
import { inboxSettings } from './inbox.ts'
import { job } from './jobs.ts'
import { lakeSettings } from './lake.ts'
import {
  addressRange,
  amount,
  archiveHost,
  flag,
  group,
  headerName,
  headerValue,
  number,
  optionalText,
  orNull,
  region,
  start,
  url,
  urlOfV1,
  warehouseUrl,
  whole,
  zone,
} from './values.ts'

const key = z.strictObject({
  value: headerValue.describe('The API key; take it from the environment'),
  kind: z
    .enum(['partner', 'dedicated'])
    .describe('partner: one key for several rooftops, X-Dealer-Id is sent [A §5]'),
  region: region.describe('Regional behaviour follows the key [A §5]'),
  user: optionalText.describe('Sent as `user` only with /geteval, where the key needs it [A §4]'),
})

const currencies = new Set(Intl.supportedValuesOf('currency'))
const notACurrency = 'is not an ISO 4217 code, e.g. AUD'

const rooftop = z.strictObject({
  uid: z.string().min(1, 'is empty').max(64).describe('Goes into X-Dealer-Id [A §5]'),
  name: z.string().min(1, 'is empty').max(200),
  dealerId: orNull(number(z.int())).describe('Sent in the list filter [A §4 /getevallist]'),
  key: z.string().describe('The name of a key in `keys`'),
  group: orNull(z.string().min(1, 'is empty').max(120)).describe(
    'Dealer group; default: the partner key, or the rooftop itself for a dedicated key',
  ),
  region: region.optional().describe("Default: the key's"),
  timezone: zone.describe('IANA time zone of the rooftop'),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, { error: notACurrency, abort: true })
    .refine((code) => currencies.has(code), notACurrency)
    .describe('ISO 4217'),
  odometerUnit: z.enum(['km', 'mi']).optional().describe('Default: mi in the US, else km'),
})

const sync = group({
  start: start
    .default(new Date('2024-01-01T00:00:00Z'))
    .describe('First instant that incremental sync owns'),
  windowHours: whole(1, 24 * 31)
    .default(24)
    .describe('The largest window asked for at once'),
  settleDays: amount(0, 365)
    .default(3)
    .describe('A window younger than this is read and stored, but not yet settled'),
  recheckDays: amount(0, 3650).default(60).describe('Listed again for late completions and edits'),
  deepRelistNights: whole(1, 365)
    .default(28)
    .describe('Nights in which all older windows are listed again, a part each night'),
  rereadBudget: whole(0, 10_000_000)
    .default(5000)
    .describe('Known evaluations read again for one rooftop in one run, at most'),
})

const verify = group({
  withinNights: whole(1, 365)
    .default(28)
    .describe(
      'Nights in which the job verify compares all windows, sums, vehicles and rows, a share each night',
    ),
  minutes: amount(0.1, 600)
    .default(20)
    .describe('After this time it leaves the rest of its share to the next night'),
})

const perDay = whole(0, 1_000_000).default(0)

/** The config file as it may be written; check.ts has the checks of several settings at once. */
export const fileSchema = z.strictObject({
  appraisal: group({
    baseUrl: urlOfV1.default('http://127.0.0.1:4010/v1').describe('{base_url}, ends in /v1 [A §1]'),
  }),
  vehicleData: group({
    baseUrl: url.default('http://127.0.0.1:4011').describe('{data_url}, without /v1 [V §1]'),
    apiKey: orNull(headerValue).describe('Empty: no vehicle data'),
  }),
  warehouse: group({
    url: orNull(warehouseUrl).describe(
      'Postgres 15 or newer; left out: embedded Postgres under .forecourt/',
    ),
  }),
  keys: z
    .record(z.string(), key)
    .default({})
    .describe('API keys by a name of your own; kind: partner or dedicated; region: AU, US or GCC'),
  rooftops: z
    .array(rooftop)
    .default([])
    .describe(
      'Left out: group (by the key), region (of the key), odometerUnit (mi in the US, else km)',
    ),
  sync,
  http: group({
    concurrency: whole(1, 256)
      .default(8)
      .describe('Requests at once per key over all processes, at most'),
    requestsPerSecond: orNull(amount(0.1, 10_000)).describe(
      'Per key over all processes, at most; null: learnt from the throttles',
    ),
    timeoutSeconds: amount(0.05, 600).default(30),
    maxRetries: whole(0, 20).default(6),
    traceparent: flag
      .default(false)
      .describe(
        'Send the header traceparent where traces are recorded, so that the service can join',
      ),
  }).describe('Adapts downwards and upwards by itself'),
  pricing: group({
    reasoning: flag
      .default(false)
      .describe('Ask for the reasoning too, and wait for it up to about 3 minutes [A §8]'),
    budget: whole(0, 10_000_000)
      .default(2000)
      .describe('Evaluations priced for one rooftop in one run, at most'),
  }),
  checks: group({
    lookForNewDays: whole(0, 3650)
      .default(90)
      .describe('Evaluations younger than this number of days are checked for new past checks'),
    lookEveryDays: whole(1, 365).default(7).describe('At least this often'),
    dailyForDays: whole(0, 365)
      .default(3)
      .describe('Evaluations completed in the last days are asked for new checks every night'),
    backfillBudget: whole(0, 10_000_000)
      .default(5000)
      .describe('Requests of one "backfill vehicle-checks" for one rooftop, at most'),
  }),
  links: group({
    refreshBeforeHours: whole(48, 168)
      .default(48)
      .describe('Signed again when less than this is left before the next night'),
    keepAliveDays: orNull(whole(0, 36_500)).describe(
      'Only links of evaluations younger than this are renewed; null: every link',
    ),
    token: orNull(headerValue).describe(
      'Opens the permalinks of "forecourt serve"; take it from the environment',
    ),
    archive: group({
      folder: optionalText.describe(
        'Where PDFs are stored, relative to this file; null: no archive',
      ),
      hosts: z
        .array(archiveHost)
        .default([])
        .describe('Where PDFs may be fetched: host, host:port or *.example.com, by https'),
    }).describe('Stores the PDFs themselves: "forecourt links archive"'),
  }),
  stock: group({
    graceDays: whole(0, 365)
      .default(3)
      .describe('Days until a vehicle that the lists no longer name is off stock'),
    inbox: inboxSettings.describe(
      'Folders that stock lists are dropped into: "forecourt stock watch", job stock-inbox',
    ),
  }),
  prices: group({
    batchSize: whole(1, 100_000)
      .default(500)
      .describe('To begin with; halved where the service takes fewer'),
    market: optionalText.describe(
      'Two-letter country; null: AU, or the GCC country of the currency; none: the request names no market',
    ),
  }),
  verify: verify.describe('The nightly job verify'),
  lake: lakeSettings.describe('Where "forecourt lake export" writes the marts as Delta tables'),
  retention: group({
    rawDays: whole(0, 36_500)
      .default(90)
      .describe('Superseded payloads; the newest of each record stays'),
    runDays: whole(1, 36_500)
      .default(90)
      .describe('What each run did for each rooftop; the run and its sums stay'),
    ledgerDays: whole(30, 36_500)
      .default(400)
      .describe('Runs of jobs, price batches, webhooks, and what people did in the console'),
  }),
  budget: group({
    ppsrSearch: perDay,
    carHistory: perDay,
    historyCheck: perDay,
    prediction: perDay,
  }).describe('Paid calls allowed in a day (UTC); 0 = never'),
  access: accessSettings.describe(
    'Who may read the marts: "forecourt grant" makes the roles and these logins',
  ),
  jobs: z
    .record(z.string(), job)
    .default({})
    .describe(
      'Where "forecourt schedule" differs from the files of jobs/; "forecourt run" lists them',
    ),
  alerts: alertSettings.describe('Who gets a message when something needs a person'),
  serve: group({
    host: z.string().min(1, 'is empty').default('127.0.0.1'),
    port: whole(0, 65_535).default(4020),
    trustedProxies: z
      .array(addressRange)
      .default([])
      .describe(
        'Addresses or ranges of the proxies in front, e.g. 127.0.0.1 or 10.0.0.0/8: their X-Forwarded-For names the client. Never a range from which people connect themselves',
      ),
  }).describe(
    'Permalinks and webhooks over HTTP; put a TLS proxy before it if other machines use it',
  ),
  console: consoleSettings.describe(
    'The web console of "forecourt serve" and who may open it; left out: there is none',
  ),
  mcp: group({
    url: orNull(warehouseUrl).describe(
      'The warehouse with a login of role bi_reader or bi_tenant; take it from the environment',
    ),
    maxRows: whole(1, 10_000).default(500).describe('Rows of one answer, at most'),
    maxKilobytes: whole(10, 10_000).default(200).describe('Size of one answer, at most'),
    statementTimeoutSeconds: whole(1, 3600).default(30).describe('A longer query is stopped'),
  }).describe('What an assistant reads with "forecourt mcp"'),
  operations: group({
    host: z.string().min(1, 'is empty').default('127.0.0.1'),
    port: orNull(whole(0, 65_535)).describe(
      '/healthz, /readyz and /metrics of worker, schedule and serve; null: no metrics',
    ),
    perRooftop: flag
      .default(false)
      .describe('Metrics of every rooftop too: three series for each rooftop and stream'),
  }),
  webhooks: group({
    publicUrl: orNull(
      url
        .refine((text) => !/[?#]/.test(text), 'has a ? or #: write only the address')
        .transform((text) => text.replace(/\/+$/, '')),
    ).describe('Where the service reaches "forecourt serve"; /webhooks is added if it lacks it'),
    authHeaderName: headerName.default('X-Forecourt-Token'),
    authHeaderValue: orNull(headerValue).describe(
      'What every delivery has to carry in that header; take it from the environment',
    ),
    previousAuthHeaderValue: orNull(headerValue).describe(
      'Taken too, while the value is changed: until "webhooks apply" has set the new one',
    ),
    events: z
      .array(z.enum(['ON_COMPLETE', 'ON_EXPORT', 'ON_DRIVE_COMPLETED']))
      .default(['ON_COMPLETE', 'ON_EXPORT'])
      .describe('"webhooks apply" subscribes to these; ON_DRIVE_COMPLETED: drives too [A §6]'),
  }),
  wire: wireSettings,
})

/** The config file with its defaults filled in. */
export type ConfigFile = z.infer<typeof fileSchema>
/** The config file as it may be written. */
export type ConfigInput = z.input<typeof fileSchema>
/** The region of a key and its rooftops. */
export type Region = z.infer<typeof region>

const environmentReference = { type: 'string', pattern: '\\$\\{' }

/** JSON Schema of the config file, for editors. Generated from the zod schema that validates it. */
export function configJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(fileSchema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod
      if (def.type === 'default') jsonSchema.default = JSON.parse(JSON.stringify(def.defaultValue))
      // Anything except free text may also come from the environment, and a group with only comments in it is null.
      const { type } = jsonSchema
      if (type === 'integer' || type === 'number' || type === 'boolean' || jsonSchema.enum)
        Object.assign(jsonSchema, { anyOf: [narrowed(jsonSchema), environmentReference] })
      if (def.type === 'prefault' && type === 'object')
        jsonSchema.type = ['object', 'null'] as never
    },
  }) as Record<string, unknown>
}

/** Moves the keywords of a type into a schema of their own. */
function narrowed(schema: Record<string, unknown>): Record<string, unknown> {
  const names = ['type', 'enum', 'minimum', 'maximum'].filter((name) => name in schema)
  const wanted = Object.fromEntries(names.map((name) => [name, schema[name]]))
  for (const name of names) delete schema[name]
  return wanted
}
