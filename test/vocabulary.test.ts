import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const texts = [
  '{src,sql,test,jobs}/**/*.{ts,sql,md,yaml,yml,malloy,sh}',
  ...['*.md', 'Dockerfile', 'docker-compose.yml', '.ci/run', '.deploy/*/*'],
]
const files = globSync(texts, { cwd: root }).map((file) => ({
  file,
  lines: readFileSync(join(root, file), 'utf8').split('\n'),
}))

/** What the repository does not say, and what it says instead. Identifiers and file names are split into their words. */
const instead: Readonly<Record<string, string>> = {
  'adopt, adopts, adopted': 'reassign, take over',
  anew: 'again',
  aside: 'quarantined',
  'carry out, carries out, carried out': 'execute, run',
  'deed, deeds': 'change',
  'desk, office': 'context, store',
  elsewhere: 'at another rooftop, in another process',
  'estate, estates': 'simulation, dealer group',
  'fire, fires, fired, firing': 'job run, start',
  fleet: 'deployment',
  'for ever': 'always, without a limit',
  'hear, hears, heard': 'receive',
  'house, houses': 'fixture',
  'in vain': 'without result',
  kept: 'stored',
  'landed, landing': 'loaded',
  'lest, whilst, upon, ere': 'the modern word',
  'look, looks, looked, looking': 'check, poll, read, appear',
  'mend, mends, mended': 'repair, fix',
  'mortal, patient': 'what it can do: crash, wait',
  'needle, needles': 'search term',
  nobody: 'no one, nothing',
  'of which': 'whose, or a new sentence',
  ought: 'should',
  patience: 'timeout, retry',
  'reckon, reckons, reckoned': 'calculate',
  'ruling, rulings, verdict, verdicts': 'error action',
  said: 'reported, stated',
  'so many': 'the number',
  'stand, stands, standing': 'is; status',
  'stray, strays, stranger, strangers': 'unknown, owned by another',
  'tell, tells, telling, told': 'report, log, show',
  'twin, twins': 'the other one',
  'whom, whence, thence, thereof, wherein': 'a plainer sentence',
  yard: 'stock, fixture',
}

/** Where such a word is the right one. `file`: only there. */
const allowed: readonly { readonly file?: RegExp; readonly text: RegExp; readonly why: string }[] =
  [
    { text: /look(s|ed|ing)? ?ups?/g, why: 'to look something up is the common word' },
    { text: /stray quotes?/g, why: 'the term of CSV' },
    { text: /libre ?office/g, why: 'a program' },
    { text: /office document/g, why: 'a word of the format of workbooks' },
    { text: /look for new days|look every days|look to book/g, why: 'config and mart names' },
    { text: /job ?fire|fire id/g, why: 'a table, its key, and the key in --json' },
    { text: /not told|told at/g, why: 'a stored value and two columns' },
    { text: /in house/g, why: 'a value of the service' },
    {
      file: /webhook|apply-retention|0005_work\.sql$|^test\/schema\.sql$|DICTIONARY\.md$|bi\/(contract|dbt\/models)\//,
      text: /\bkept\b/g,
      why: 'a state of ops.webhook_delivery, and the column and key with its count',
    },
    {
      file: /\/(job-status|operations\/samples)\.ts$|commands\/(run\.pg|schedule\.pg|status-causes)\.test\.ts$/,
      text: /\bkept\b/g,
      why: 'a key of the job status in --json',
    },
    {
      file: /(scheduler|commands)\/alert/,
      text: /\blook\b/g,
      why: 'a key of the body of an alert',
    },
    { text: /stock looks like/g, why: 'the beginning of two issue codes' },
    { text: /in stock elsewhere/g, why: 'an issue code' },
    {
      file: /\/learn\/|commands\/wire|console\/(pages\/)?names|^CHANGELOG/,
      text: /\belsewhere\b/g,
      why: 'a state of `wire check` in --json',
    },
    {
      file: /^src\/stock\/csv\/map\/(alias|vehicle-words)|^test\/stock\/csv\/.*\/(real-files|traps)\.test\.ts$/,
      text: /\b(estate|fleet|landed|stand|yard)\b/g,
      why: 'header words and body types of the lists of dealers',
    },
    {
      file: /^src\/sandbox\//,
      text: /twin turbo|junk yard|he said as new|looks like json/g,
      why: 'sample data',
    },
    {
      file: /^CHANGELOG/,
      text: /core stream standing|was verdict/g,
      why: 'the names before a change',
    },
    { text: /nobody example/g, why: 'an address of no one, as in RFC 2606' },
    { text: /alertstate firing/g, why: 'a label of Prometheus' },
    { text: /started adopt/g, why: 'a method of AsyncDisposableStack' },
    {
      file: /^test\/conformance\//,
      text: /fires when|does not fire it|keys are kept/g,
      why: "the document's own words",
    },
  ]

const phrases = new Map(
  Object.entries(instead).flatMap(([words, better]) =>
    words.split(', ').map((phrase) => [phrase, better] as const),
  ),
)
const pattern = new RegExp(`\\b(${[...phrases.keys()].join('|')})\\b`, 'g')

/** `readRows_at` and `read-rows at` are both `read rows at`. */
function wordsOf(file: string, line: string): string {
  const split = line.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/[_\W]+/g, ' ')
  return allowed
    .filter((entry) => entry.file?.test(file) ?? true)
    .reduce((text, { text: fine }) => text.replace(fine, ' '), split.toLowerCase())
}

/** The path of a file of the repository, also relative to the page, but not a glob or a placeholder. */
const path = /(?<![\w/.-])(?:\.{1,2}\/)*(?:src|test|sql|jobs)\/[\w./-]+\.\w+/g

/** The part of the line that is prose: all of a page, elsewhere the comment. */
function proseOf(file: string, line: string): string {
  return file.endsWith('.md') ? line : (/(?:^|\s)(?:\/\/|\/?\*+|--|#)\s(.*)/.exec(line)?.[1] ?? '')
}

test('identifiers, comments and texts use the words of the field', () => {
  const others = files.filter(({ file }) => file !== 'test/vocabulary.test.ts')

  const found = others.flatMap(({ file, lines }) =>
    [file, ...lines].flatMap((line, number) =>
      [...wordsOf(file, line).matchAll(pattern)].map(
        ([word]) => `${file}:${number}: "${word}" (rather: ${phrases.get(word)}): ${line.trim()}`,
      ),
    ),
  )

  expect(others.length).toBeGreaterThan(500)
  expect(found).toEqual([])
})

test('a function says what it gives or does, a variable what it holds', () => {
  const sources = files.filter(({ file }) => /^src\/.*\.ts$/.test(file))
  const vague = /\bfunction\*? (\w+Of)\b|\b(?:function|const|let) (own|own[A-Z]\w*|most[A-Z]\w*)\b/

  const found = sources.flatMap(({ file, lines }) =>
    lines.filter((line) => vague.test(line)).map((line) => `${file}: ${line.trim()}`),
  )

  expect(sources.length).toBeGreaterThan(500)
  expect(found).toEqual([])
})

test('files that comments and pages mention exist', () => {
  // A migration is never edited: it names the files of its day.
  const pages = files.filter(({ file }) => !file.startsWith('sql/migrations/'))
  const mentions = pages.flatMap(({ file, lines }) =>
    lines.flatMap((line, index) =>
      [...proseOf(file, line).matchAll(path)].map(([mentioned]) => ({
        place: `${file}:${index + 1}: ${mentioned}`,
        candidates: [join(root, mentioned), join(root, dirname(file), mentioned)],
      })),
    ),
  )

  const missing = mentions.filter(({ candidates }) => !candidates.some((one) => existsSync(one)))

  expect(mentions.length).toBeGreaterThan(50)
  expect(missing.map(({ place }) => place)).toEqual([])
})

test('only a test that skips without it mentions a file outside the repository', () => {
  const mentions = files.filter(({ lines }) => lines.some((line) => /\.\.\/shared\b/.test(line)))

  const required = mentions.filter(
    ({ file, lines }) => !file.startsWith('test/') || !/\bskip(ped|If)?\b/.test(lines.join('\n')),
  )

  expect(required.map(({ file }) => file)).toEqual([])
})
