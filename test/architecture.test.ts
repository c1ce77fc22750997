import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { type Import, importsOf, readSources, unusedExports } from './support/imports.ts'

// The allowed imports of each folder; every folder may import itself.
const base = ['values', 'errors', 'config', 'log', 'telemetry', 'tracing']
const source = ['sources', 'contract', ...base]
// Keeps erased customers out of what comes in; the rest of erasure knows the streams, which are above the pipeline.
const screening = ['email', 'suppression', 'search-terms', 'redact', 'scrub-payload'].map(
  (name) => `src/erasure/${name}.ts`,
)
const upToPipeline = ['context', 'warehouse', 'db', 'queue', ...source]
const rules: Readonly<Record<string, readonly string[]>> = {
  values: [],
  errors: [],
  log: ['values', 'errors'],
  config: ['values', 'errors'],
  version: [],
  telemetry: [],
  tracing: ['errors'],
  heap: [],
  'compile-cache': [],
  csv: base,
  workbook: ['csv', ...base],
  contract: ['values'],
  db: base,
  queue: base,
  rate: ['sources', 'db', ...base],
  sources: ['contract', ...base],
  // What the package exports: it loads neither Postgres nor the console.
  client: source,
  streams: ['pipeline', 'db', ...source],
  billing: [...upToPipeline, 'pipeline', 'erasure', 'src/streams/vehicle-checks/*.ts'],
  archive: ['db', ...base],
  access: ['db', ...base],
  'event-loop-watch': ['log', 'telemetry'],
  warehouse: ['access', 'db', 'queue', ...base],
  context: ['warehouse', 'sources', 'queue', 'rate', 'values'],
  'open-context': [
    ...['context', 'warehouse', 'event-loop-watch', 'sources', 'db', 'queue', 'rate', ...base],
  ],
  links: [...upToPipeline, 'archive', 'src/streams/vehicle-checks/*.ts'],
  erasure: ['archive', 'db', 'streams', ...source],
  retention: [...upToPipeline, 'erasure', 'archive', 'streams'],
  pipeline: [...upToPipeline, ...screening],
  morning: [...upToPipeline, 'pipeline', 'src/streams/all.ts'],
  scheduler: [
    ...[...upToPipeline, 'pipeline', 'morning', 'retention', 'lake'],
    ...['src/streams/all.ts', 'src/stock/inbox/*.ts'],
  ],
  webhook: [
    ...[...upToPipeline, 'pipeline', 'erasure', 'src/streams/all.ts'],
    ...['src/streams/evaluations/*.ts', 'src/links/source-time.ts'],
  ],
  operations: [
    ...[...upToPipeline, 'pipeline', 'scheduler', 'links', 'src/streams/all.ts', 'version'],
    'src/streams/evaluations/*.ts',
  ],
  serve: [...upToPipeline, 'pipeline', 'links', 'webhook', 'operations', 'console'],
  // Above what it shows.
  console: [
    ...[...upToPipeline, 'pipeline', 'morning', 'scheduler', 'links', 'webhook', 'billing'],
    ...['stock', 'version', 'src/streams/all.ts'],
  ],
  marts: ['db', ...base],
  lake: ['marts', 'db', ...base],
  stock: [
    'csv',
    'compile-cache',
    'marts',
    'workbook',
    'pipeline',
    'erasure',
    'src/streams/stock-prices/[^/]+',
    ...upToPipeline,
  ],
  sandbox: ['values', 'contract'],
  commands: [
    ...[
      ...upToPipeline,
      'open-context',
      'heap',
      'csv',
      'streams',
      'pipeline',
      'morning',
      'scheduler',
      'webhook',
      'console',
    ],
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
      'serve',
      'lake',
    ],
  ],
  cli: ['commands', 'values', 'errors', 'log', 'version'],
  main: ['bin.cts', 'cli', 'compile-cache', 'heap', 'tracing'],
  jobs: ['src/scheduler/job.ts'],
}

/** The folder of a file below src/, or its own name there. */
function folderOf(path: string): string {
  const [top = '', below = ''] = path.split('/')
  if (top !== 'src') return top
  return below.replace(/\.ts$/, '')
}

function violations(imports: readonly Import[]): string[] {
  return imports
    .filter(({ from, to }) => {
      const [folder, target] = [folderOf(from), folderOf(to)]
      const matches = (rule: string) =>
        rule === target || new RegExp(`^${rule.replace('*', '[^/]+')}$`).test(to)
      return folder !== target && !(rules[folder] ?? []).some(matches)
    })
    .map(({ from, to }) => `${from} imports ${to}: ${folderOf(from)} may not`)
}

/** The first import cycle of every file that is on one. */
function cycles(imports: readonly Import[]): string[] {
  const next = Map.groupBy(imports, ({ from }) => from)
  const done = new Set<string>()
  const found: string[] = []
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) found.push([...trail.slice(at), path].join(' → '))
    if (at >= 0 || done.has(path)) return
    for (const { to } of next.get(path) ?? []) walk(to, [...trail, path])
    done.add(path)
  }
  for (const path of next.keys()) walk(path, [])
  return found
}

function barrels(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([path, text]) => {
    const isIndexFile = ['index.ts', 'mod.ts'].includes(basename(path))
    return isIndexFile || /^export\s[^'"=(]*\sfrom\s+'/m.test(text) ? [`${path} is a barrel`] : []
  })
}

test('no file imports from a folder that its rule does not allow', async () => {
  const imports = importsOf(await readSources())

  expect(imports.length).toBeGreaterThan(200)
  expect(violations(imports)).toEqual([])
})

test('what is received passes one gate that knows the erased customers', async () => {
  const imports = importsOf(await readSources())
  const importers = imports.filter(
    ({ from, to }) => folderOf(from) === 'pipeline' && folderOf(to) === 'erasure',
  )

  // A replay and a verification read payloads that erasures have cleaned; `why` says when a customer was erased. What is shown of a
  // payload is masked.
  expect([...new Set(importers.map(({ from }) => basename(from)))].sort()).toEqual([
    ...['derive-rows.ts', 'mask-payload.ts', 'next-read.ts', 'privacy-gate.ts', 'replay-slice.ts'],
  ])
})

test('every folder has a rule', async () => {
  const folders = new Set([...(await readSources()).keys()].map(folderOf))

  expect([...folders].filter((folder) => !Object.hasOwn(rules, folder))).toEqual([])
})

test('there are no import cycles', async () => {
  expect(cycles(importsOf(await readSources()))).toEqual([])
})

test('a name is imported from the file that defines it', async () => {
  expect(barrels(await readSources())).toEqual([])
})

test('what a file exports is imported by another one', async () => {
  const sources = await readSources(['src', 'jobs', 'test'])
  // The client is a package: other programs import it.
  const unused = unusedExports(sources).filter((one) => !one.startsWith('src/client/'))

  expect(unused).toEqual([])
})

test('an export without a user is named', () => {
  const sources = new Map([
    [
      'src/values/a.ts',
      'export const one = 1\nexport interface Two {}\nexport function late() {}\n',
    ],
    [
      'src/values/b.ts',
      "import { one as first } from './a.ts'\nexport async function three() {}\n",
    ],
    ['test/b.test.ts', "const { late } = await import('#src/values/a.ts')\n"],
  ])

  expect(unusedExports(sources)).toEqual(['src/values/a.ts Two', 'src/values/b.ts three'])
})

test('every violation is named', () => {
  const imports = importsOf(
    new Map([
      ['src/values/a.ts', "import { openPool } from '../db/connect.ts'\n"],
      [
        'src/streams/b.ts',
        "import type { Core } from '../db/tables.ts'\nimport '../queue/queue.ts'\n",
      ],
      ['src/sandbox/routes/c.ts', "import {\n  x,\n  y,\n} from '../../sources/http.ts'\n"],
      ['src/sandbox/d.ts', "import { photo } from '../contract/appraisal/shapes.ts'\n"],
      ['src/pipeline/e.ts', "import type { pricing } from '../streams/pricing/pricing.ts'\n"],
      ['src/pipeline/f.ts', "const x = await import('../commands/sync.ts')\n"],
      ['jobs/nightly.ts', "import { runCli } from '#src/cli.ts'\n"],
    ]),
  )

  expect(violations(imports)).toEqual([
    'src/values/a.ts imports src/db/connect.ts: values may not',
    'src/streams/b.ts imports src/queue/queue.ts: streams may not',
    'src/sandbox/routes/c.ts imports src/sources/http.ts: sandbox may not',
    'src/pipeline/e.ts imports src/streams/pricing/pricing.ts: pipeline may not',
    'src/pipeline/f.ts imports src/commands/sync.ts: pipeline may not',
    'jobs/nightly.ts imports src/cli.ts: jobs may not',
  ])
})

test('an import cycle and a barrel are named', () => {
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
