import { stringify } from 'yaml'
import { z } from 'zod'
import { allHeldNames } from '../../values/wire.ts'
import { fileSchema } from './schema.ts'
import { unwrap } from './values.ts'

/** What the file is filled in with; without it, with examples in comments. */
export interface SandboxValues {
  readonly appraisal: { readonly baseUrl: string }
  readonly vehicleData: { readonly baseUrl: string; readonly apiKey: string }
  readonly keys: Readonly<Record<string, object>>
  readonly rooftops: readonly object[]
  /** The first day of the history. */
  readonly start: string
}

/** The text of a commented config file: every setting with its default and its description, from the schema that validates it. */
export function configText(places: SandboxValues | null): string {
  const values = places === null ? examples : { ...examples, ...templateValues(places) }
  const sections = Object.entries(fileSchema.shape).map(([name, section]) =>
    name === 'wire'
      ? wireText(section, places === null)
      : settingLines([name], section, values).join('\n'),
  )
  return `${[heading, ...sections].join('\n\n')}\n`
}

const heading = `
# Forecourt. \${NAME} takes an environment variable, else the line NAME=value of .env beside this file; \${NAME:-default} has a default.
# A missing one is an error.
# Whatever is left out has the default that is shown here. "forecourt check" says what is wrong.
# [A §5] = section 5 of the appraisal document, [V §4] = section 4 of the vehicle data document.`.trim()

/** Texts of settings that are not their defaults, by path. Those of several lines follow the name of the setting. */
const examples: Readonly<Record<string, string>> = {
  // The default is the sandbox, which nothing real is loaded from.
  'appraisal.baseUrl': 'https://appraisal.example.com/v1',
  'vehicleData.baseUrl': 'https://data.example.com',
  'vehicleData.apiKey': `\${FORECOURT_VEHICLE_DATA_KEY:-}`,
  'warehouse.url': `# \${DATABASE_URL}`,
  keys: `
  # The user is the id or email that is sent with /geteval, where the key needs it
  # group-au: { value: "\${FORECOURT_KEY_AU}", kind: partner, region: AU, user: null }`,
  rooftops: `
  # The uid is the rooftop's id at the service: a partner key sends it as X-Dealer-Id. The dealerId is its number there: it filters lists.
  # No operation lists either: they come from whoever gave you the key. "forecourt check" shows the DealerID of a recent evaluation.
  # - { uid: 7f3a, name: Northside, dealerId: 101, key: group-au, timezone: Australia/Sydney, currency: AUD }`,
  'sync.start': '2024-01-01',
  'links.token': `\${FORECOURT_LINKS_TOKEN:-}`,
  'stock.inbox': `
    # - { folder: /srv/stock/north, rooftop: 7f3a, expectDaily: "07:00" }
    # - { folder: /srv/stock/group, rooftopColumn: Branch, rooftopCodes: { NTH: 7f3a }, pattern: "*.csv" }`,
  'access.logins': `
    # A role is bi_reader, bi_tenant (its dealer groups alone), bi_pii_reader (customers too) or forecourt_writer.
    # - { name: bi_tool, role: bi_reader, password: "\${BI_TOOL_PASSWORD:-}", connectionLimit: 20, statementTimeoutSeconds: 120 }
    # - { name: bi_north, role: bi_tenant, groups: ["key:group-au"], password: "\${BI_NORTH_PASSWORD:-}" }`,
  console: `
  # publicUrl: http://127.0.0.1:4020
  # timezone: Australia/Sydney
  # people:
  #   - { email: kim@example.com, role: engineer }
  #   - { email: sam@example.com, role: stock, rooftops: ["7f3a"] }
  # oidc: { issuer: https://login.example.com, clientId: forecourt, clientSecret: "\${FORECOURT_OIDC_SECRET}" }`,
  jobs: `
  # nightly: { schedule: "0 2 * * *", timezone: Australia/Sydney, enabled: true }`,
  'alerts.url': `\${FORECOURT_ALERTS_URL:-}`,
  'alerts.targets': `
    # - { name: ops, format: slack, url: "\${FORECOURT_SLACK_URL}", severity: critical }
    # - { name: all, format: email, to: [kim@example.com] }`,
  'alerts.smtp': `
    # host: smtp.example.com
    # user: forecourt
    # password: "\${FORECOURT_SMTP_PASSWORD}"
    # from: forecourt@example.com`,
  'mcp.url': `\${FORECOURT_MCP_URL:-}`,
  'webhooks.authHeaderValue': `\${FORECOURT_WEBHOOK_TOKEN:-}`,
}

/** The console of the demo and of a config for the sandbox: whoever sits at this machine. */
export const sandboxConsole = {
  publicUrl: 'http://127.0.0.1:4020',
  people: [{ email: 'you@example.com', role: 'engineer' as const }],
}

/** A paid call to the sandbox costs nothing. */
const sandboxBudget = '20'

function templateValues({ appraisal, vehicleData, keys, rooftops, start }: SandboxValues) {
  const inLine = (value: object) =>
    stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()
  const named = Object.entries(keys).map(([name, key]) => `\n  ${name}: ${inLine(key)}`)
  return {
    'appraisal.baseUrl': appraisal.baseUrl,
    'vehicleData.baseUrl': vehicleData.baseUrl,
    'vehicleData.apiKey': vehicleData.apiKey,
    'sync.start': start,
    keys: named.join(''),
    rooftops: rooftops.map((rooftop) => `\n  - ${inLine(rooftop)}`).join(''),
    console: `\n  ${stringify(sandboxConsole).trimEnd().replaceAll('\n', '\n  ')}`,
    'budget.ppsrSearch': sandboxBudget,
    'budget.carHistory': sandboxBudget,
    'budget.historyCheck': sandboxBudget,
    'budget.prediction': sandboxBudget,
  }
}

/** A setting and what is below it, a line each. */
function settingLines(
  path: readonly string[],
  schema: z.ZodType,
  values: Readonly<Record<string, string>>,
): string[] {
  const margin = '  '.repeat(path.length - 1)
  const { description } = schema
  const described = (line: string) =>
    description === undefined ? line : `${line.padEnd(28)} # ${description}`
  const inner = unwrap(schema)
  const given = values[path.join('.')]
  const name = `${margin}${path.at(-1)}:`
  if (given?.startsWith('\n')) return [`${described(name)}${given}`]
  if (inner instanceof z.ZodObject)
    return [
      described(name),
      ...Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([below, member]) =>
        settingLines([...path, below], member, values),
      ),
    ]
  if (given?.startsWith('# ')) return [described(`${margin}# ${path.at(-1)}: ${given.slice(2)}`)]
  return [described(`${name} ${given ?? JSON.stringify(schema.parse(undefined))}`)]
}

/** What the documents leave open, in comments. At a real service nothing has proved the names yet: the columns are held. */
function wireText(section: z.ZodType, isHeld: boolean): string {
  const [head = '', ...lines] = settingLines(['wire'], section, {
    ...(isHeld && { 'wire.appraisal.held': JSON.stringify(allHeldNames) }),
  })
  const isSet = (line: string) => isHeld && /^ {2}appraisal:|^ {4}held:/.test(line)
  return [
    '# Names that the two documents leave open: change one here when the service speaks otherwise. A request setting is a',
    '# field name; a response setting is a dotted path ("" = the body itself) or a list whose first present path is used.',
    ...[head, ...lines.map((line) => (isSet(line) ? line : `  # ${line.slice(2)}`))],
  ].join('\n')
}
