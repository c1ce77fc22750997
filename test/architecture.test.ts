import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { type Import, importsOf, readSources, unusedExports } from './support/imports.ts'

// The allowed imports of each folder; every folder may import itself.
const base = ['values', 'errors', 'app/config', 'log', 'telemetry', 'tracing']
const source = ['api/sources', 'api/contract', ...base]
const upToSync = ['context', 'warehouse', 'warehouse/db', 'warehouse/queue', ...source]
const rules: Readonly<Record<string, readonly string[]>> = {
  values: [],
  errors: [],
  log: ['values', 'errors'],
  'app/config': ['values', 'errors'],
  version: [],
  telemetry: [],
  tracing: ['errors'],
  heap: [],
  'compile-cache': [],
  'stock/csv': base,
  'stock/workbook': ['stock/csv', ...base],
  'api/contract': ['values'],
  'warehouse/db': base,
  'warehouse/queue': base,
  'api/rate': ['api/sources', 'warehouse/db', ...base],
  'api/sources': ['api/contract', ...base],
  // It compares names and values as stock lists and erasures do.
  'api/learn': ['api/contract', 'stock/csv', 'privacy/screen', 'values'],
  // What the package exports: it loads neither Postgres nor the console.
  'api/client': source,
  // A stream knows which of its fields moved at the service.
  streams: ['sync', 'warehouse/db', 'api/learn', ...source],
  'app/billing': [
    ...upToSync,
    'sync',
    'privacy/erase',
    'privacy/screen',
    'src/streams/vehicle-checks/*.ts',
  ],
  'web/archive': ['warehouse/db', ...base],
  'warehouse/access': ['warehouse/db', ...base],
  warehouse: ['warehouse/access', 'warehouse/db', 'warehouse/queue', ...base],
  context: ['warehouse', 'api/sources', 'warehouse/queue', 'api/rate', 'values'],
  'open-context': [
    ...[
      'context',
      'warehouse',
      'api/sources',
      'warehouse/db',
      'warehouse/queue',
      'api/rate',
      ...base,
    ],
  ],
  'web/links': [...upToSync, 'web/archive', 'src/streams/vehicle-checks/*.ts'],
  'privacy/screen': ['warehouse/db', 'api/contract', 'values'],
  'privacy/erase': ['privacy/screen', 'web/archive', 'warehouse/db', 'streams', ...source],
  'privacy/retain': [
    ...upToSync,
    'privacy/erase',
    'privacy/screen',
    'web/archive',
    'streams',
    'src/sync/explain/*.ts',
  ],
  sync: [...upToSync, 'privacy/screen'],
  'web/morning': [...upToSync, 'sync', 'src/streams/all.ts'],
  'app/scheduler': [
    ...[...upToSync, 'sync', 'web/morning', 'privacy/retain', 'warehouse/lake', 'warehouse/store'],
    ...['src/streams/all.ts', 'src/stock/folders/*.ts'],
  ],
  'web/webhook': [
    ...[...upToSync, 'sync', 'privacy/erase', 'privacy/screen', 'src/streams/all.ts'],
    'src/streams/evaluations/*.ts',
  ],
  'web/operations': [
    ...[...upToSync, 'sync', 'app/scheduler', 'web/links', 'src/streams/all.ts', 'version'],
    'src/streams/evaluations/*.ts',
  ],
  'web/serve': [...upToSync, 'sync', 'web/links', 'web/webhook', 'web/operations', 'web/console'],
  // Above what it shows.
  'web/console': [
    ...[
      ...upToSync,
      'sync',
      'web/morning',
      'app/scheduler',
      'web/links',
      'web/webhook',
      'app/billing',
    ],
    ...['stock', 'version', 'api/learn', 'src/streams/all.ts'],
  ],
  'warehouse/marts': ['warehouse/db', ...base],
  'warehouse/parquet': ['warehouse/marts', ...base],
  'warehouse/store': base,
  'warehouse/lake': [
    ...['warehouse/marts', 'warehouse/parquet', 'warehouse/store', 'warehouse/db'],
    ...['version', ...base],
  ],
  stock: [
    'stock/csv',
    'compile-cache',
    'warehouse/marts',
    'warehouse/parquet',
    'stock/workbook',
    'sync',
    'privacy/erase',
    'privacy/screen',
    'src/streams/stock-prices/[^/]+',
    ...upToSync,
  ],
  sandbox: ['values', 'api/contract'],
  'app/commands': [
    ...[
      ...upToSync,
      'open-context',
      'heap',
      'stock/csv',
      'streams',
      'sync',
      'web/morning',
      'app/scheduler',
      'web/webhook',
      'web/console',
    ],
    ...[
      'app/mcp',
      'warehouse/access',
      'api/learn',
      'sandbox',
      'app/billing',
      'web/links',
      'web/archive',
      'stock',
      'privacy/erase',
      'privacy/screen',
      'version',
      'web/operations',
      'web/serve',
      'warehouse/lake',
      'warehouse/store',
    ],
  ],
  cli: ['app/commands', 'values', 'errors', 'log', 'version'],
  main: ['bin.cts', 'cli', 'compile-cache', 'heap', 'tracing'],
  // What a BI login reads, and no more: neither the tables nor the services.
  'app/mcp': ['api/contract', 'warehouse/db', 'version', ...base],
  jobs: ['src/app/scheduler/job.ts'],
}

/** The folder whose rule a file follows: the deepest one that has a rule, or else its top folder below src/. */
function folderOf(path: string): string {
  const [top = '', ...below] = path.replace(/\.ts$/, '').split('/')
  if (top !== 'src') return top
  const folders = below.map((_, depth) => below.slice(0, depth + 1).join('/'))
  return folders.findLast((folder) => Object.hasOwn(rules, folder)) ?? folders[0] ?? ''
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
    ({ from, to }) => folderOf(from) === 'sync' && folderOf(to) === 'privacy/screen',
  )

  // A replay and a verification read payloads that erasures have cleaned; `why` says when a customer was erased. What is shown of a
  // payload is masked.
  expect([...new Set(importers.map(({ from }) => basename(from)))].sort()).toEqual([
    ...['derive-rows.ts', 'mask-payload.ts', 'next-read.ts', 'privacy-gate.ts'],
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

// Where the driver does what Kysely does not.
const driverFiles: Readonly<Record<string, string>> = {
  'src/api/rate/budget-rows.ts': 'LISTEN in a session of its own, and a time limit for each query',
  'src/app/mcp/mart-reader.ts': 'one statement that is not trusted, by the extended protocol',
  'src/warehouse/parquet/copy-rows.ts': 'COPY',
  'src/warehouse/queue/queue.ts': 'pg-boss writes its own statements',
}

test('outside of warehouse/db, statements are written with Kysely', async () => {
  const sources = [...(await readSources(['src']))]
  const found = sources.filter(([, text]) => /\.query(<|\()/.test(text)).map(([path]) => path)
  const others = found.filter((path) => !path.startsWith('src/warehouse/db/'))

  expect(others.length).toBeGreaterThan(0)
  expect(others.filter((path) => !Object.hasOwn(driverFiles, path))).toEqual([])
})

test('what a file exports is imported by another one', async () => {
  const sources = await readSources(['src', 'jobs', 'test'])
  // The client is a package: other programs import it.
  const unused = unusedExports(sources).filter((one) => !one.startsWith('src/api/client/'))

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
      ['src/values/a.ts', "import { openPool } from '../warehouse/db/connect.ts'\n"],
      [
        'src/streams/b.ts',
        "import type { Core } from '../warehouse/db/tables.ts'\nimport '../warehouse/queue/queue.ts'\n",
      ],
      ['src/sandbox/routes/c.ts', "import {\n  x,\n  y,\n} from '../../api/sources/http.ts'\n"],
      ['src/sandbox/d.ts', "import { photo } from '../api/contract/appraisal/shapes.ts'\n"],
      ['src/sync/e.ts', "import type { pricing } from '../streams/pricing/pricing.ts'\n"],
      ['src/sync/f.ts', "const x = await import('../app/commands/sync.ts')\n"],
      ['jobs/nightly.ts', "import { runCli } from '#src/cli.ts'\n"],
    ]),
  )

  expect(violations(imports)).toEqual([
    'src/values/a.ts imports src/warehouse/db/connect.ts: values may not',
    'src/streams/b.ts imports src/warehouse/queue/queue.ts: streams may not',
    'src/sandbox/routes/c.ts imports src/api/sources/http.ts: sandbox may not',
    'src/sync/e.ts imports src/streams/pricing/pricing.ts: sync may not',
    'src/sync/f.ts imports src/app/commands/sync.ts: sync may not',
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
