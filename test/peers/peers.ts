import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { installEnvironment } from '../ecosystem/tools.ts'
import type { Command } from './measure.ts'

/** A tool of the course. */
export interface Peer {
  readonly name: string
  /** Why it cannot take part; null: it can. */
  readonly reason: string | null
  /** One select with the columns dealer, evaluation_id and document. */
  readonly rowsSql: string
  /** Lines of code and configuration that its user writes. */
  readonly userLines: number
  /** A command before the first night, where the tool has one. It counts for no case. */
  setUp?(order: NightOrder): Promise<Command>
  /** The command of a night, to be repeated each night and after a kill. */
  night(order: NightOrder): Promise<Command>
}

export interface NightOrder {
  readonly source: string
  readonly database: string
  readonly rooftops: readonly { readonly dealer: string; readonly key: string }[]
  readonly start: number
  readonly now: number
  readonly inFlight: number
  /** A folder that stays between the nights. */
  readonly state: string
}

const folder = import.meta.dirname
const root = join(folder, '../..')

/** No tool reports its use. */
const quiet = {
  DO_NOT_TRACK: '1',
  RUNTIME__DLTHUB_TELEMETRY: 'false',
  AIRBYTE_OFFLINE_MODE: '1',
  MELTANO_SEND_ANONYMOUS_USAGE_STATS: 'false',
}

/** Forecourt and each tool that has a folder here; of them only the wanted ones, or all. */
export async function findPeers(wanted: readonly string[]): Promise<Peer[]> {
  const names = readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, 'rows.sql')))
    .filter((name) => wanted.length === 0 || wanted.includes(name))
  return await Promise.all(names.map((name) => (name === 'forecourt' ? forecourt : openPeer(name))))
}

const notOfUser = /\/(README\.md|requirements[^/]*\.txt|rows\.sql|__pycache__\/[^/]*)$/

async function openPeer(name: string): Promise<Peer> {
  const home = join(folder, name)
  const files = readdirSync(home)
  const installed = files
    .map((file) => /^requirements(?:-(\w+))?\.txt$/.exec(file))
    .filter((match) => match !== null)
    .map(async ([file, part]) => {
      const made = await installEnvironment(`peer-${name}${part ?? ''}`, join(home, file))
      const variable = part === undefined ? 'PEER_BIN' : `PEER_${part.toUpperCase()}_BIN`
      return { variable, bin: join(made.folder, 'bin'), reason: made.reason }
    })
  const environments = await Promise.all(installed)
  const bins = Object.fromEntries(environments.map(({ variable, bin }) => [variable, bin]))
  const python = join(environments[0]?.bin ?? '', 'python')
  const programs = { 'run.ts': process.execPath, 'run.py': python, 'run.sh': 'bash' }
  const [entry, program] = Object.entries(programs).find(([file]) => files.includes(file)) ?? []
  return {
    name,
    reason: environments.find(({ reason }) => reason !== null)?.reason ?? null,
    rowsSql: readFileSync(join(home, 'rows.sql'), 'utf8'),
    userLines: readdirSync(home, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile() && !notOfUser.test(join(file.parentPath, file.name)))
      .reduce((sum, { parentPath, name: file }) => {
        return sum + codeLines(readFileSync(join(parentPath, file), 'utf8'))
      }, 0),
    night: async ({ source, database, rooftops, start, now, inFlight, state }) => ({
      words: [program!, join(home, entry!)],
      cwd: state,
      env: {
        ...{ ...quiet, ...bins, PEER_BASE: source, PEER_KEY_HEADER: 'Authorization' },
        ...{ PEER_ROOFTOPS: JSON.stringify(rooftops), PEER_DATABASE: database },
        ...{ PEER_START: String(start), PEER_NOW: String(now), PEER_STEP: '604800' },
        ...{ PEER_LAG: '259200', PEER_LIMIT: String(inFlight), PEER_STATE: state },
      },
    }),
  }
}

const forecourt: Peer = {
  name: 'forecourt',
  reason: null,
  rowsSql: readFileSync(join(folder, 'forecourt/rows.sql'), 'utf8'),
  get userLines() {
    const rooftops = [{ dealer: 'rooftop-1', key: 'key' }]
    const example = { source: '', database: '', rooftops, start: 0, now: 0, inFlight: 1, state: '' }
    return codeLines(configText(example))
  },
  setUp: (order) => forecourtCommand(['migrate'], order),
  night: (order) => forecourtCommand(['sync', 'evaluations'], order),
}

async function forecourtCommand(words: readonly string[], order: NightOrder): Promise<Command> {
  const config = join(order.state, 'forecourt.yaml')
  await writeFile(config, configText(order))
  const program = [process.execPath, join(root, 'src/main.ts')]
  return {
    words: [...program, ...words, '--config', config, '--no-progress'],
    ...{ cwd: order.state, env: {} },
  }
}

function configText({ source, database, rooftops, start, inFlight }: NightOrder): string {
  const keys = [...new Set(rooftops.map(({ key }) => key))]
  return stringify({
    appraisal: { baseUrl: source },
    warehouse: { url: database },
    keys: Object.fromEntries(
      keys.map((key) => [key, { value: key, kind: 'partner', region: 'AU' }]),
    ),
    rooftops: rooftops.map(({ dealer, key }, at) => ({
      ...{ uid: dealer, name: dealer, dealerId: 101 + at, key, group: dealer },
      ...{ timezone: 'Australia/Sydney', currency: 'AUD' },
    })),
    sync: { start: new Date(start * 1000).toISOString() },
    // The limit is one of each key.
    http: { concurrency: Math.max(1, Math.floor(inFlight / keys.length)) },
  })
}

/** Lines that are neither empty nor a comment. */
function codeLines(text: string): number {
  return text.split('\n').filter((line) => !/^\s*(#|\/\/|\/?\*|--|$)/.test(line)).length
}
