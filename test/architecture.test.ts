import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { type Import, importsOf, readSources } from './support/imports.ts'

// Who may import whom: the rungs of the fixture. A room may import itself and what stands here; `type:` = as a type alone.
const ground = ['values', 'errors', 'config', 'log', 'telemetry']
const source = ['sources', 'contract', ...ground]
// What a stream is, not any one of them.
const kindsOfStream = ['src/streams/([a-z]+-)?stream.ts', 'src/streams/(stream-sources|record).ts']
const upToPipeline = ['context', 'warehouse', 'db', 'queue', ...source]
const rules: Readonly<Record<string, readonly string[]>> = {
  values: [],
  errors: [],
  log: ['values', 'errors'],
  config: ['values', 'errors'],
  version: [],
  telemetry: [],
  heap: [],
  'compile-cache': [],
  csv: ground,
  contract: ['values'],
  db: ground,
  queue: ground,
  rate: ['sources', 'db', ...ground],
  sources: ['contract', ...ground],
  streams: ['sources', 'contract', 'csv', 'values', 'errors', 'type:src/db/tables.ts'],
  billing: ['sources', 'contract', 'db', ...ground],
  archive: ['db', ...ground],
  access: ['db', ...ground],
  'event-loop-watch': ['log', 'telemetry'],
  warehouse: ['access', 'db', 'queue', ...ground],
  context: ['warehouse', 'event-loop-watch', 'sources', 'contract', 'db', 'queue', 'rate', ...ground],
  links: [...upToPipeline, 'archive', 'src/streams/vehicle-checks/*.ts', ...kindsOfStream],
  erasure: ['archive', 'db', 'streams', ...source],
  retention: [...upToPipeline, 'erasure', 'archive', 'streams'],
  pipeline: [...upToPipeline, 'erasure', ...kindsOfStream],
  scheduler: [...upToPipeline, 'pipeline', 'retention', 'src/streams/all.ts'],
  webhook: [
    ...[...upToPipeline, 'pipeline', 'erasure', 'src/streams/all.ts'],
    ...['src/streams/evaluations/evaluations.ts', 'src/links/source-time.ts'],
  ],
  operations: [...upToPipeline, 'pipeline', 'scheduler', 'links', 'src/streams/all.ts', 'version'],
  console: [...upToPipeline, 'pipeline', 'src/streams/all.ts'],
  stock: ['csv', 'pipeline', 'erasure', 'src/streams/stock-prices/[^/]+', ...upToPipeline],
  sandbox: ['values', 'contract'],
  commands: [
    ...[...upToPipeline, 'csv', 'streams', 'pipeline', 'scheduler', 'webhook', 'console'],
    ...[
      'access',
      'sandbox',
      'billing',
      'links',
      'archive',
      'stock',
      'erasure',
      'version',
      'operations',
    ],
  ],
  cli: ['commands', 'values', 'errors', 'log', 'version'],
  main: ['cli', 'compile-cache', 'heap'],
  jobs: ['src/scheduler/job.ts'],
}

/** The room of a file: its folder below src/, or its own name there; config-*.ts are config. */
function roomOf(path: string): string {
  const [top = '', below = ''] = path.split('/')
  if (top !== 'src') return top
  return below.replace(/\.ts$/, '').replace(/^config-.*/, 'config')
}

function trespasses(imports: readonly Import[]): string[] {
  return imports
    .filter(({ from, to, isType }) => {
      const [room, target] = [roomOf(from), roomOf(to)]
      const matches = (rule: string) =>
        rule === target || new RegExp(`^${rule.replace('*', '[^/]+')}$`).test(to)
      const allowed = (rules[room] ?? []).some((rule) =>
        rule.startsWith('type:') ? isType && matches(rule.slice(5)) : matches(rule),
      )
      return room !== target && !allowed
    })
    .map(({ from, to }) => `${from} imports ${to}: ${roomOf(from)} may not`)
}

/** The first way from a file back to itself, for every file that is on one. */
function cycles(imports: readonly Import[]): string[] {
  const next = Map.groupBy(imports, ({ from }) => from)
  const done = new Set<string>()
  const found: string[] = []
  const walk = (path: string, way: readonly string[]): void => {
    const at = way.indexOf(path)
    if (at >= 0) found.push([...way.slice(at), path].join(' → '))
    if (at >= 0 || done.has(path)) return
    for (const { to } of next.get(path) ?? []) walk(to, [...way, path])
    done.add(path)
  }
  for (const path of next.keys()) walk(path, [])
  return found
}

function barrels(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([path, text]) => {
    const isNamedSo = ['index.ts', 'mod.ts'].includes(basename(path))
    return isNamedSo || /^export\s[^'"=(]*\sfrom\s+'/m.test(text) ? [`${path} is a barrel`] : []
  })
}

test('nothing imports what stands above it or beside it', async () => {
  const imports = importsOf(await readSources())

  expect(imports.length).toBeGreaterThan(200)
  expect(trespasses(imports)).toEqual([])
})

test('every file stands in a room that has a rule', async () => {
  const rooms = new Set([...(await readSources()).keys()].map(roomOf))

  expect([...rooms].filter((room) => !Object.hasOwn(rules, room))).toEqual([])
})

test('nothing imports itself by a detour', async () => {
  expect(cycles(importsOf(await readSources()))).toEqual([])
})

test('a name is imported from the file that defines it', async () => {
  expect(barrels(await readSources())).toEqual([])
})

test('every trespass is named', () => {
  const imports = importsOf(
    new Map([
      ['src/values/a.ts', "import { openPool } from '../db/connect.ts'\n"],
      ['src/streams/b.ts', "import type { Core } from '../db/tables.ts'\nimport '../log.ts'\n"],
      ['src/sandbox/routes/c.ts', "import {\n  x,\n  y,\n} from '../../sources/http.ts'\n"],
      ['src/sandbox/d.ts', "import { photo } from '../contract/appraisal/shapes.ts'\n"],
      ['src/streams/e.ts', "import { Core } from '../db/tables.ts'\n"],
      ['src/pipeline/f.ts', "const x = await import('../commands/sync.ts')\n"],
      ['jobs/nightly.ts', "import { runCli } from '#src/cli.ts'\n"],
    ]),
  )

  expect(trespasses(imports)).toEqual([
    'src/values/a.ts imports src/db/connect.ts: values may not',
    'src/streams/b.ts imports src/log.ts: streams may not',
    'src/sandbox/routes/c.ts imports src/sources/http.ts: sandbox may not',
    'src/streams/e.ts imports src/db/tables.ts: streams may not',
    'src/pipeline/f.ts imports src/commands/sync.ts: pipeline may not',
    'jobs/nightly.ts imports src/cli.ts: jobs may not',
  ])
})

test('a detour and a barrel are named', () => {
  const sources = new Map([
    ['src/values/a.ts', "import { b } from './b.ts'\n"],
    ['src/values/b.ts', "import { c } from './c.ts'\n"],
    ['src/values/c.ts', "import type { A } from './a.ts'\nexport * from './b.ts'\n"],
  ])

  expect(cycles(importsOf(sources))[0]).toBe(
    'src/values/a.ts → src/values/b.ts → src/values/c.ts → src/values/a.ts',
  )
  expect(barrels(sources)).toEqual(['src/values/c.ts is a barrel'])
})
