import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const texts = [
  '{src,sql,test,jobs}/**/*.{ts,sql,md,yaml,yml,malloy,sh}',
  ...['*.md', 'Dockerfile', 'docker-compose.yml', '.ci/run'],
]

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
    { text: /look for new days|look every days|look to book/g, why: 'config and mart names' },
    { text: /job ?fire|fire id/g, why: 'a table, its key, and the key in --json' },
    { text: /not told|told at/g, why: 'a stored value and two columns' },
    { text: /in house/g, why: 'a value of the service' },
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

test('identifiers, comments and texts use the words of the field', () => {
  const files = globSync(texts, { cwd: root }).filter((file) => file !== 'test/vocabulary.test.ts')

  const found = files.flatMap((file) =>
    [file, ...readFileSync(`${root}/${file}`, 'utf8').split('\n')].flatMap((line, number) =>
      [...wordsOf(file, line).matchAll(pattern)].map(
        ([word]) => `${file}:${number}: "${word}" (rather: ${phrases.get(word)}): ${line.trim()}`,
      ),
    ),
  )

  expect(files.length).toBeGreaterThan(500)
  expect(found).toEqual([])
})
