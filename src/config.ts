import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { LineCounter, type ParsedNode, parseDocument } from 'yaml'
import { z } from 'zod'
import { UsageError } from './errors.ts'
import { interpolate } from './values/interpolate.ts'
import { parseInstant } from './values/instant.ts'
import { wireSettings } from './values/wire.ts'

/** Numbers may come from the environment, where everything is text. */
const number = (schema: z.ZodNumber) =>
  z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value),
    schema,
  )
const whole = (min: number, max: number) => number(z.int().min(min).max(max))
const group = <S extends z.ZodRawShape>(shape: S) => z.strictObject(shape).prefault({} as never)

const url = z.string().regex(/^https?:\/\/[^\s/]+/, 'must be an http:// or https:// address')
const zone = z.string().refine(isTimeZone, 'is not an IANA time zone, e.g. Australia/Sydney')
const start = z
  .union([z.string(), z.date().transform((date) => date.toISOString())])
  .refine((text) => parseInstant(text) !== null, 'is not a date (2024-01-01) or an ISO instant')
  .transform((text) => parseInstant(text)!)
const region = z.enum(['AU', 'US', 'GCC'])

const key = z.strictObject({
  value: z.string().min(1, 'is empty').describe('The API key; take it from the environment'),
  kind: z.enum(['partner', 'dedicated']).describe('partner: X-Dealer-Id is sent [A §5]'),
  region,
  user: z.string().min(1).nullable().default(null).describe('Sent as `user` with /geteval alone'),
})

const rooftop = z.strictObject({
  uid: z.string().min(1).max(64).describe('Goes into X-Dealer-Id'),
  name: z.string().min(1).max(200),
  dealerId: number(z.int()).nullable().default(null).describe('Goes into the list filter'),
  key: z.string().describe('The name of a key in `keys`'),
  group: z
    .string()
    .min(1)
    .max(120)
    .nullable()
    .default(null)
    .describe('Dealer group; default: the partner key, or the rooftop itself for a dedicated key'),
  region: region.optional(),
  timezone: zone,
  currency: z.string().regex(/^[A-Z]{3}$/, 'is not an ISO 4217 code, e.g. AUD'),
  odometerUnit: z.enum(['km', 'mi']).optional().describe('Default: mi in the US, else km'),
})

const fileSchema = z
  .strictObject({
    appraisal: group({ baseUrl: url.default('http://127.0.0.1:4010/v1') }),
    vehicleData: group({
      baseUrl: url.default('http://127.0.0.1:4011'),
      apiKey: z.string().nullable().default(null),
    }),
    warehouse: group({
      url: z
        .string()
        .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')
        .nullable()
        .default(null)
        .describe('Left out: embedded Postgres under .forecourt/'),
    }),
    keys: z.record(z.string(), key).default({}),
    rooftops: z.array(rooftop).default([]),
    sync: group({
      start: start
        .default(new Date('2024-01-01T00:00:00Z'))
        .describe('First instant that incremental sync owns'),
      windowHours: whole(1, 24 * 31)
        .default(24)
        .describe('The largest window asked for at once'),
      settleDays: number(z.number().min(0).max(365)).default(3),
      recheckDays: number(z.number().min(0).max(3650)).default(60),
      deepRelistNights: whole(1, 365)
        .default(28)
        .describe('Older windows are listed again in turn within so many nights'),
      rereadBudget: whole(0, 10_000_000)
        .default(5000)
        .describe('Known evaluations read again for one rooftop in one run, at most'),
    }),
    http: group({
      concurrency: whole(1, 256).default(8),
      timeoutSeconds: number(z.number().min(0.05).max(600)).default(30),
      maxRetries: whole(0, 20).default(6),
    }),
    pricing: group({ reasoning: z.boolean().default(false) }),
    checks: group({
      lookForNewDays: whole(0, 3650).default(90),
      lookEveryDays: whole(1, 365).default(7),
    }),
    links: group({
      refreshBeforeHours: whole(1, 168).default(48),
      keepAliveDays: whole(0, 36_500).nullable().default(null),
    }),
    prices: group({
      batchSize: whole(1, 100_000).default(500),
      market: z.string().nullable().default(null),
    }),
    retention: group({ rawDays: whole(0, 36_500).default(90) }),
    budget: group({
      ppsrSearch: whole(0, 1_000_000).default(0),
      carHistory: whole(0, 1_000_000).default(0),
      historyCheck: whole(0, 1_000_000).default(0),
      prediction: whole(0, 1_000_000).default(0),
    }),
    webhooks: group({
      publicUrl: z.string().nullable().default(null),
      authHeaderName: z.string().default('X-Forecourt-Token'),
      authHeaderValue: z.string().nullable().default(null),
    }),
    wire: wireSettings,
  })
  .superRefine(crossCheck)

type ConfigFile = z.infer<typeof fileSchema>
export type Region = z.infer<typeof region>
export type KeyConfig = z.infer<typeof key>
/** A rooftop with everything that the file may leave out filled in. */
export interface RooftopConfig {
  readonly uid: string
  readonly name: string
  readonly dealerId: number | null
  readonly key: string
  readonly group: string
  readonly region: Region
  readonly timezone: string
  readonly currency: string
  readonly odometerUnit: 'km' | 'mi'
}
export type Config = Omit<ConfigFile, 'rooftops'> & {
  readonly rooftops: readonly RooftopConfig[]
  /** Where the config came from, for messages; null: built-in defaults. */
  readonly file: string | null
  /** Where `.forecourt/` lies. */
  readonly homeDir: string
}

/** What the process was started with beyond the config; the only reader of `process.env`. */
export interface Environment {
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}
export function processEnvironment(): Environment {
  return { variables: process.env, cwd: process.cwd() }
}

/**
 * Reads `--config`, else `forecourt.yaml` in the working directory, else the built-in defaults.
 * UsageError names the file, the line and the path of everything that is wrong with it.
 */
export function loadConfig(file: string | undefined, environment: Environment): Config {
  const wanted = path.resolve(environment.cwd, file ?? 'forecourt.yaml')
  if (!existsSync(wanted)) {
    if (file === undefined) return complete(fileSchema.parse({}), null, environment.cwd)
    throw new UsageError(
      `Config file ${wanted} does not exist: check --config, or write one with "forecourt init".`,
    )
  }
  let text: string
  try {
    text = readFileSync(wanted, 'utf8')
  } catch (cause) {
    throw new UsageError(`Config file ${wanted} cannot be read: ${String(cause)}`, { cause })
  }
  return parseConfig(text, wanted, environment)
}

/** Parses the text of a config file; `file` is for messages only. */
export function parseConfig(text: string, file: string, environment: Environment): Config {
  const lines = new LineCounter()
  const document = parseDocument(interpolate.mask(text), { lineCounter: lines })
  const short = path.basename(file)
  const broken = document.errors[0]
  if (broken) {
    const line = lines.linePos(broken.pos[0]).line
    throw new UsageError(
      `${short}:${line}: not valid YAML: ${broken.message.split('\n')[0]} Mend the line and try again.`,
    )
  }
  const lineOf = (at: readonly PropertyKey[]) => lineOfPath(document.contents, at, lines)
  const { value, missing } = interpolate.fill(document.toJS() ?? {}, environment.variables)
  const absent = missing[0]
  if (absent) {
    throw new UsageError(
      `${short}:${lineOf(absent.path)}: ${dotted(absent.path)} takes the environment variable ` +
        `${absent.name}, which is not set: set it, or give a default with \${${absent.name}:-default}.`,
    )
  }
  const parsed = fileSchema.safeParse(value)
  if (parsed.success) return complete(parsed.data, file, environment.cwd)
  const problems = parsed.error.issues.map((issue) => {
    const at = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path
    return `${short}:${lineOf(at)}: ${dotted(at)} ${explain(issue)}`
  })
  throw new UsageError(problems.join('\n'))
}

/** A config made in the program (the demo, tests), through the same validation. */
export function makeConfig(input: z.input<typeof fileSchema>, homeDir: string): Config {
  return complete(fileSchema.parse(input), null, homeDir)
}
export type ConfigInput = z.input<typeof fileSchema>

/** JSON Schema of the config file, for editors. Made from the zod schema that validates it. */
export function configJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(fileSchema, {
    io: 'input',
    unrepresentable: 'any',
  }) as Record<string, unknown>
}

/** Every value of the config that must appear in no log, no error and no output. */
export function secretsOf(config: Config): string[] {
  const passwords = config.warehouse.url ? [new URL(config.warehouse.url).password] : []
  return [
    ...Object.values(config.keys).map((entry) => entry.value),
    config.vehicleData.apiKey,
    config.webhooks.authHeaderValue,
    ...passwords,
    ...passwords.map(decodeURIComponent),
  ].filter((secret): secret is string => secret !== null && secret.length >= 4)
}

function complete(config: ConfigFile, file: string | null, cwd: string): Config {
  const rooftops = config.rooftops.map((entry) => {
    const access = config.keys[entry.key]!
    const place = entry.region ?? access.region
    return Object.freeze({
      ...entry,
      region: place,
      odometerUnit: entry.odometerUnit ?? (place === 'US' ? 'mi' : 'km'),
      group:
        entry.group ?? (access.kind === 'partner' ? `key:${entry.key}` : `rooftop:${entry.uid}`),
    } satisfies RooftopConfig)
  })
  const homeDir = file === null ? cwd : path.dirname(file)
  return Object.freeze({ ...config, rooftops, file, homeDir })
}

function crossCheck(config: z.output<z.ZodObject> | ConfigShape, context: z.RefinementCtx): void {
  const { keys, rooftops } = config as ConfigShape
  const seen = new Set<string>()
  rooftops.forEach((entry, index) => {
    const issue = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: ['rooftops', index, field], message })
    const access = keys[entry.key]
    if (!access) {
      const known = Object.keys(keys).join(', ') || 'none'
      issue('key', `names a key that is not under keys: (known: ${known})`)
    } else if (entry.region !== undefined && entry.region !== access.region) {
      issue('region', `is ${entry.region}, but its key ${entry.key} is for ${access.region} [A §5]`)
    }
    if (seen.has(entry.uid)) issue('uid', `stands twice: every rooftop is listed once`)
    seen.add(entry.uid)
  })
}
interface ConfigShape {
  readonly keys: Record<string, z.infer<typeof key>>
  readonly rooftops: readonly z.infer<typeof rooftop>[]
}

/** A zod issue as words that follow the path; never the value, which may be a secret. */
function explain(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return 'is not a setting: remove it or mend its name.'
  if (issue.code === 'invalid_type') return `must be a ${issue.expected}.`
  if (issue.code === 'invalid_value')
    return `must be one of ${issue.values.map(String).join(', ')}.`
  return `${issue.message.replace(/^Invalid input: /, '')}.`
}

function dotted(at: readonly PropertyKey[]): string {
  const text = at.reduce<string>(
    (all, part) =>
      typeof part === 'number' ? `${all}[${part}]` : all ? `${all}.${String(part)}` : String(part),
    '',
  )
  return text || 'the file'
}

function lineOfPath(
  root: ParsedNode | null,
  at: readonly PropertyKey[],
  lines: LineCounter,
): number {
  let node: unknown = root
  let offset = root?.range?.[0] ?? 0
  for (const part of at) {
    const items: readonly unknown[] = (node as { items?: readonly unknown[] } | null)?.items ?? []
    const item = (
      typeof part === 'number' ? items[part] : items.find((pair) => isPairOf(pair, part))
    ) as { key?: { range?: number[] }; value?: unknown; range?: number[] } | undefined
    if (!item) break
    offset = item.key?.range?.[0] ?? item.range?.[0] ?? offset
    node = typeof part === 'number' ? item : item.value
  }
  return lines.linePos(offset).line
}

function isPairOf(pair: unknown, key: PropertyKey): boolean {
  return (pair as { key?: { value?: unknown } }).key?.value === key
}

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return true
  } catch {
    return false
  }
}
