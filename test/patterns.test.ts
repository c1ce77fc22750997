import { check } from 'recheck'
import { expect, test, vi } from 'vitest'
import { readSources } from './support/imports.ts'
import { patternsIn } from './support/patterns.ts'

// A pattern for external text must take linear time: a quadratic one would block the process, its heartbeats and its transactions
// at a text of 100 KB.

// The native program has other seeds for its random texts, and takes a linear pattern with (?<!…) for a quadratic one.
vi.stubEnv('RECHECK_BACKEND', 'pure')

const short = {
  quoted: 'at most 2,000 characters of an error are quoted',
  cell: 'a longer cell was refused before',
  config: 'text of the config, which the operator writes',
  own: 'text of ours',
  fileName: 'the name of a file has at most 255 bytes',
  label: 'a text of more than 60 characters is not tried',
}

/** Patterns that are not linear, or cannot be checked, and why that does no harm. */
const allowed: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'src/privacy/screen/normalise-text.ts': {
    "new RegExp(\n  [\n    String.raw`&(?:amp;)*(?:#(?<decimal>\\d{1,7});?|#x(?<hex>[0-9a-f]{1,6});|(?<named>[a-z]{2,8});)`,\n    `(?<link>${link}[0-7][0-9a-f]|${link}[c-f][0-9a-f](?:${link}[89ab][0-9a-f]){1,3})`,\n    String.raw`\\\\u(?<unit>[0-9a-f]{4}(?:(?<=d[89ab]..)\\\\ud[c-f][0-9a-f]{2})?)|(?<blank>\\\\[bfnrt])`,\n    String.raw`(?!\\s)\\p{Cc}`,\n    String.raw`(?:[A-Za-z](?=\\p{M})|[^\\x00-\\x7f])\\p{M}{0,8}`,\n  ].join('|'),\n  'giu',\n)":
      'no repetition contains the character that begins its part',
  },
  'src/privacy/screen/phone.ts': {
    "new RegExp(`^[\\\\s${phoneSeparators.replace('-', '\\\\-')}]{1,4}$`)":
      'at most four characters',
    '[a-z\\d]*$': '18 characters before a number',
  },
  'src/stock/workbook/number-format.ts': {
    '\\.?0+$': 'toFixed gives at most 32 characters',
  },
  'src/stock/csv/map/sold-blocks.ts': {
    '^["\',;|\\t ]+|["\',;|\\t ]+$': 'the title of a block has at most 80 characters',
  },
  'src/stock/csv/map/typing/sold-words.ts': {
    "new RegExp(\n  String.raw`^\\P{L}*(?:(?:already|bereits|schon|déjà|ya|${nouns})\\s+)*(?:sold|wholesaled|delivered|verkaufte?[nrs]?|ausgeliefert|vendue?s?|livrée?s?|vendid[oa]s?|entregad[oa]s?|(?:ال)?مباع[ةه]?|تم بيعها|تم البيع)(?:\\s+${nouns})*(?:\\s*[-–:(,.]?\\s*(?:(?:in|this|last|during|since|im|seit|diesen|en|ce|cette|este|esta|depuis|desde|خلال|هذا|\\p{Nd}|[-–:(]|/ ).*|(?:\\p{L}+\\s)?\\p{Nd}{4})?)?\\P{L}*$`,\n  'iu',\n)":
      short.label,
  },
  'src/stock/csv/map/typing/summary-words.ts': {
    "new RegExp(\n  String.raw`^(?:${totals}|${others}|${arabic})(?:[:=(-].*| (?:général|general|geral)|\\.{0,3})?$`,\n  'iu',\n)":
      short.label,
    "new RegExp(\n  String.raw`^(?:${totals}|sub ?tot|count|average|avg|anzahl|durchschnitt|moyenne|nombre|promedio|gesamtergebnis|(?:ال)?(?:إجمالي|اجمالي|مجموع|متوسط))(?![\\p{L}\\p{M}\\p{N}])`,\n  'iu',\n)":
      short.label,
  },
  'src/stock/csv/map/typing/value-questions.ts': {
    '[\\d.,]*\\d': short.cell,
  },
  'src/cli.ts': {
    '\\.?\\s*\\n\\s*\\((.*)\\)$': 'messages of commander',
    "^error: command-argument value '([^']*)' is invalid for argument '(\\w+)'\\. Allowed choices are (.*)":
      'linear, and slow to check; messages of commander',
  },
  'src/app/billing/pay.ts': { '[.\\s]*$': short.quoted },
  'src/app/config/lake.ts': { '\\/+$': short.config },
  'src/warehouse/store/open-store.ts': {
    '\\/+$': short.config,
    '^s3:\\/\\/([^/]*)\\/?(.*)$': short.config,
  },
  'src/app/config/schema.ts': { '\\/+$': short.config },
  'src/app/config/values.ts': { '\\/+$': short.config },
  'src/web/morning/sentences.ts': { '[.\\s]*$': short.quoted },
  'src/web/console/reports/read-report.ts': { 'new RegExp(`\\\\b(${name})\\\\b`)': short.own },
  'src/stock/csv/map/typing/description.ts': {
    '^(?:\\D*\\d{1,2}\\D+){0,2}((?:19|20)\\d{2})(?:\\D.*)?$': short.cell,
  },
  'src/stock/csv/map/typing/number.ts': { '^[.,]+|[.,]+$': short.cell },
  'src/stock/csv/map/column-profile.ts': {
    '\\bMY\\s?\\d\\d|\\bMk\\s?[IVX\\d]+|\\bSeries \\w|^[A-Z]{1,5}\\d{1,4}[A-Z]?$|^[A-Z]{2} I+$|^\\d{3}\\b':
      'linear, and slow to check',
  },
  'src/warehouse/db/marts.ts': {
    "new RegExp(`\\\\bcore\\\\.${name}\\\\b`, 'g')": short.own,
    'new RegExp(`\\\\bcore\\\\.${name}\\\\b`)': short.own,
  },
  'src/warehouse/db/embedded.ts': {
    '\\/postgres -D (.+?) -[pc] ': 'the command line of a process',
  },
  'src/warehouse/db/mart-files.ts': {
    "new RegExp(`^create or replace view (mart|mart_pii)\\\\.${name}\\\\b`, 'm')": short.own,
  },
  'src/warehouse/db/migration-files.ts': { '^\\s*(commit|rollback)\\s*;': short.own },
  'src/web/operations/operations.ts': { "new RegExp(`^${parts.join('[^/]+')}$`)": short.own },
  'src/api/sources/appraisal/client.ts': {
    '\\buser\\b.*\\brequired\\b|\\brequire[sd]?\\b.*\\buser\\b': short.quoted,
  },
  'src/api/sources/http-body.ts': {
    '\\?[^\\s]*=[^\\s]*': short.quoted,
    "[^\\s@<>()',;:]+(?:@|%40)[^\\s@<>()',;:]+": short.quoted,
    '(?:\\+|\\b0)\\d(?:[ ()-]{0,2}\\d){7,}': `linear, and slow to check; ${short.quoted}`,
  },
  'src/api/sources/http.ts': { '\\/+$': short.config },
  'src/stock/export/priced-unit.ts': { '0+$': 'a number of the warehouse' },
  'src/stock/folders/file-names.ts': { '[._]+$': short.fileName },
  'src/stock/folders/inbox.ts': {
    "new RegExp(`^${parts.map(patternExpression).join('')}$`, 'isu')": `${short.config}; ${short.fileName}`,
  },
  'src/stock/upload/plain-words.ts': { "new RegExp(`\\\\b${field}\\\\b`, 'g')": short.own },
  'src/stock/own-columns.ts': { 'new RegExp(`^(forecourt_)?${column}(_\\\\d+)?$`)': short.own },
  'src/values/http-date.ts': {
    'new RegExp(`^\\\\w{3}, \\\\d{2} (?:${months}) \\\\d{4} ${time} GMT$`)': 'has no repetition',
    'new RegExp(`^\\\\w{6,9}, \\\\d{2}-(?:${months})-\\\\d{2} ${time} GMT$`)': 'has no repetition',
    'new RegExp(`^\\\\w{3} (?:${months}) [ \\\\d]\\\\d ${time} \\\\d{4}$`)': 'has no repetition',
  },
  'src/values/interpolate.ts': {
    '\\$\\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}\\n]*))?\\}': short.config,
    "new RegExp(`\\\\$\\\\$\\\\{[^}\\\\n]*\\\\}?|${reference.source}`, 'g')": short.config,
  },
  'src/stock/workbook/write-workbook.ts': {
    '\\.?0+$': 'at most 40 characters',
    "^'+|'+$": 'at most 31 characters',
  },
  'src/values/wire.ts': { '\\{[^}]*\\}': short.config },
}

/** An attack is one by the characters that it has read. By time, every pattern is slow on a busy machine. */
const byCount = { attackTimeout: null, incubationTimeout: null, timeout: 300_000 }

const sources = [...(await readSources())]
const patterns = sources.flatMap(([file, text]) =>
  patternsIn(text).map((pattern) => ({ file, ...pattern })),
)

test('every pattern of the program takes linear time, or is used only for short texts', {
  tags: 'ci',
  timeout: 900_000,
}, async () => {
  const faults: string[] = []
  const unchecked = patterns.filter(({ file, source }) => allowed[file]?.[source] === undefined)
  for (const [key, [first, ...others]] of Map.groupBy(unchecked, keyOf)) {
    const { source, flags } = first!
    const places = [first!, ...others].map(({ file, line }) => `${file}:${line}`).join(', ')
    if (flags === null) faults.push(`${places} ${key}: built at run time`)
    else {
      const found = await check(source, flags, byCount)
      if (found.status === 'vulnerable')
        faults.push(`${places} ${key}: ${found.complexity.summary}`)
      else if (found.status === 'unknown') faults.push(`${places} ${key}: cannot be checked`)
    }
  }

  expect(faults).toEqual([])
})

test('every exception is for an existing pattern', () => {
  const stale = Object.entries(allowed).flatMap(([file, exceptions]) =>
    Object.keys(exceptions).filter(
      (source) => !patterns.some((pattern) => pattern.file === file && pattern.source === source),
    ),
  )

  expect(stale).toEqual([])
})

test('a planted slow pattern is found, as a literal and as a built string', async () => {
  const found = patternsIn(
    "const a: string = '/no/'\nconst slow = /a+@/g.test(a as string)\nnew RegExp(a + '+', 'u')",
  )

  expect(found).toEqual([
    { line: 2, source: 'a+@', flags: 'g' },
    { line: 3, source: "new RegExp(a + '+', 'u')", flags: null },
  ])
  // The second cannot be calculated: it is tried with attacks.
  for (const slow of ['a+@', '(?<!b)a+@'])
    expect((await check(slow, 'g', byCount)).status).toBe('vulnerable')
})

function keyOf({ source, flags }: (typeof patterns)[number]): string {
  return flags === null ? source : `/${source}/${flags}`
}
