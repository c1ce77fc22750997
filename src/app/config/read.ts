import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { errorText, UsageError } from '../../errors.ts'
import type { DistanceUnit } from '../../values/distance-unit.ts'
import { isObject, valueAtKey } from '../../values/json-path.ts'
import { decodePart } from '../../values/text.ts'
import { alertTargets } from './alerts.ts'
import { type Checked, checkFile, dotted, rooftopGroup } from './check.ts'
import type { ConfigFile, ConfigInput, Region } from './schema.ts'
import { isWritten } from './set-wire.ts'
import { type Problem, readText } from './text.ts'

/** A rooftop with all defaults filled in. */
export interface RooftopConfig {
  readonly uid: string
  readonly name: string
  readonly dealerId: number | null
  readonly key: string
  readonly group: string
  readonly region: Region
  readonly timezone: string
  readonly currency: string
  readonly odometerUnit: DistanceUnit
}

/** The whole config, complete and frozen. */
export type Config = Omit<ConfigFile, 'rooftops'> & {
  readonly rooftops: readonly RooftopConfig[]
  /** The config's file, for messages; null: built-in defaults. */
  readonly file: string | null
  /** Where the value of each key comes from, for messages; a config made in code has none. */
  readonly keySources: Readonly<Record<string, string>>
  readonly vehicleDataKeySource?: string
  /** The settings below `wire` that a person has written into the file, e.g. `appraisal.evaluation.make`; not those of `--write`. */
  readonly wireInFile: ReadonlySet<string>
  /** Those that `--write` has written, when their paths were proved. */
  readonly wireWritten: ReadonlySet<string>
  /** The folder of `.forecourt/`. */
  readonly homeDir: string
}

/** What the process was started with beyond the config. */
export interface Environment {
  readonly variables: Readonly<Record<string, string | undefined>>
  /** Of these variables, those that `.env` sets and not the environment. */
  readonly ofDotEnv?: ReadonlySet<string>
  readonly cwd: string
}

/** The config file that a command line means: `--config`, else `forecourt.yaml` in the working directory. */
export function configPath(file: string | undefined, { cwd }: Environment): string {
  return path.resolve(cwd, file ?? 'forecourt.yaml')
}

/**
 * Reads `--config`, else `forecourt.yaml` in the working directory, else the built-in defaults. Variables come from the environment,
 * then from `.env` beside the file.
 * UsageError names the file, the line and the path of every problem, one line each.
 */
export function loadConfig(file: string | undefined, environment: Environment): Config {
  const wanted = configPath(file, environment)
  if (!existsSync(wanted)) {
    if (file === undefined) return makeConfig({}, environment.cwd)
    throw new UsageError(
      `Config file ${wanted} does not exist: check --config, or write one with "forecourt init".`,
    )
  }
  let text: string
  try {
    text = readFileSync(wanted, 'utf8')
  } catch (cause) {
    throw new UsageError(
      `Config file ${wanted} cannot be read (${errorText(cause)}): check --config and the rights of the file.`,
      { cause },
    )
  }
  const dotEnv = readDotEnv(path.dirname(wanted))
  const variables = { ...dotEnv, ...environment.variables }
  const ofDotEnv = new Set(
    Object.keys(dotEnv).filter((name) => environment.variables[name] === undefined),
  )
  return parseConfig(text, wanted, { ...environment, variables, ofDotEnv })
}

/** The variables of `.env` beside the config, for cron and other callers that set none. The environment goes before it. */
function readDotEnv(folder: string): Record<string, string | undefined> {
  const file = path.join(folder, '.env')
  if (!existsSync(file)) return {}
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new UsageError(
      `${file} cannot be read (${errorText(cause)}): check the rights of the file.`,
      { cause },
    )
  }
}

/** Parses the text of a config file. `file` is for messages; its folder is the home folder. */
export function parseConfig(text: string, file: string, environment: Environment): Config {
  const short = path.basename(file)
  const read = readText(text, environment.variables)
  if ('broken' in read)
    throw new UsageError(
      read.broken.map(({ line, message }) => `${short}:${line}: ${message}`).join('\n'),
    )
  const checked = checkFile(read.value)
  const problems = [
    ...read.problems,
    ...checked.problems.filter((one) => isNew(one, read.problems)),
  ]
  if (problems.length === 0) {
    const sourceOf = (...setting: string[]) => {
      const variable = read.findVariable(setting)
      if (variable === null) return `${setting.join('.')} of ${short}`
      if (environment.ofDotEnv?.has(variable)) return `the variable ${variable} in .env`
      return `the environment variable ${variable}, named in ${short}`
    }
    const names = Object.keys(checked.config?.keys ?? {})
    const inFile = leafPaths(valueAtKey(read.value, 'wire')).filter((name) => name !== '')
    const isByProgram = (name: string) =>
      isWritten(text, read.lineOf(['wire', ...name.split('.')]), name)
    return complete(checked, file, path.dirname(path.resolve(file)), {
      wireInFile: new Set(inFile.filter((name) => !isByProgram(name))),
      wireWritten: new Set(inFile.filter(isByProgram)),
      keySources: Object.fromEntries(names.map((name) => [name, sourceOf('keys', name, 'value')])),
      ...(checked.config?.vehicleData.apiKey == null
        ? {}
        : { vehicleDataKeySource: sourceOf('vehicleData', 'apiKey') }),
    })
  }
  const sorted = problems
    .map((one) => ({ ...one, line: read.lineOf(one.path) }))
    .sort((a, b) => a.line - b.line)
  throw new UsageError(
    sorted.map((one) => `${short}:${one.line}: ${dotted(one.path)} ${one.problem}`).join('\n'),
  )
}

/** A config made in code (demo, tests), with the same validation. */
export function makeConfig(input: ConfigInput, homeDir: string): Config {
  const checked = checkFile(input)
  if (checked.problems.length === 0) return complete(checked, null, homeDir)
  throw new UsageError(
    checked.problems.map((one) => `config: ${dotted(one.path)} ${one.problem}`).join('\n'),
  )
}

/** Every value of the config that must not appear in logs, errors or output. */
export function listSecrets(config: Config): string[] {
  const passwords = [config.warehouse.url, config.mcp.url].flatMap((url) =>
    url ? [new URL(url).password, new URL(url).searchParams.get('password')] : [],
  )
  return [
    ...Object.values(config.keys).map((entry) => entry.value),
    config.vehicleData.apiKey,
    config.webhooks.authHeaderValue,
    config.webhooks.previousAuthHeaderValue,
    config.links.token,
    config.console?.oidc?.clientSecret ?? null,
    ...config.access.logins.map(({ password }) => password),
    config.alerts.smtp?.password ?? null,
    ...alertTargets(config.alerts).map(({ url }) => url),
    config.lake.s3.accessKeyId,
    config.lake.s3.secretAccessKey,
    config.lake.s3.sessionToken,
    ...passwords,
    ...passwords.map((text) => (text === null ? null : decodePart(text))),
  ].filter((secret): secret is string => secret !== null && secret.length >= 4)
}

/** Whether the place has no problem yet: a setting whose variable is not set is not reported as empty too. */
function isNew({ path: at }: Problem, known: readonly Problem[]): boolean {
  return !known.some(({ path: other }) => dotted(other) === dotted(at))
}

/** The paths to everything that is no object. */
function leafPaths(value: unknown): string[] {
  if (!isObject(value)) return ['']
  return Object.entries(value).flatMap(([name, each]) =>
    leafPaths(each).map((rest) => (rest === '' ? name : `${name}.${rest}`)),
  )
}

function complete(
  { config }: Checked,
  file: string | null,
  homeDir: string,
  sources: Pick<Config, 'keySources' | 'vehicleDataKeySource' | 'wireInFile' | 'wireWritten'> = {
    keySources: {},
    wireInFile: new Set(),
    wireWritten: new Set(),
  },
): Config {
  if (!config) throw new Error('a config with problems cannot be completed')
  const rooftops = config.rooftops.map((entry) => {
    const access = config.keys[entry.key]!
    const region = entry.region ?? access.region
    return Object.freeze({
      ...entry,
      region: region,
      odometerUnit: entry.odometerUnit ?? (region === 'US' ? 'mi' : 'km'),
      group: rooftopGroup(entry, config.keys),
    } satisfies RooftopConfig)
  })
  return Object.freeze({ ...config, rooftops, file, homeDir, ...sources })
}
