import { beforeAll, expect, test } from 'vitest'
import { read, scoreOf, silentlyWrong } from './pollock-score.ts'
import { filePollutions, type Polluted, rowPollutions } from './pollutions.ts'

interface Scored {
  readonly name: string
  readonly score: number
  readonly weight: number
  /** Records that count as valid but differ from what was written. */
  readonly wrong: readonly string[]
}

async function scored(file: Polluted): Promise<Scored> {
  const outcome = await read(file.text)
  const wrong = silentlyWrong(outcome, file).map(({ line }) => `${file.name}: line ${line}`)
  return { ...file, score: scoreOf(outcome, file.expected), wrong }
}

async function all(files: Iterable<Polluted>): Promise<Scored[]> {
  const scores: Scored[] = []
  for (const file of files) scores.push(await scored(file))
  return scores
}

function mean(values: readonly { readonly score: number; readonly weight: number }[]): number {
  const total = values.reduce((sum, { weight }) => sum + weight, 0)
  return values.reduce((sum, { score, weight }) => sum + weight * score, 0) / total
}

let files: readonly Scored[] = []
let rows: readonly Scored[] = []

beforeAll(async () => {
  files = await all(filePollutions())
  rows = await all(rowPollutions())
})

test('polluted files score 9.98 of 10, and 9.89 weighted by how often each fault occurs', () => {
  const scores = [...files, ...rows]
  const simple = mean(scores.map((scored) => ({ ...scored, weight: 1 })))
  const weighted = mean(scores)

  console.log(
    `${scores.length} polluted files: ${simple.toFixed(4)}, weighted ${weighted.toFixed(4)}`,
  )
  expect(scores.length).toBeGreaterThan(1000)
  expect(simple).toBeGreaterThanOrEqual(9.98)
  expect(weighted).toBeGreaterThanOrEqual(9.89)
})

test('faults of a whole file lose nothing, except a second table', () => {
  const marked = files.filter(({ score }) => score < 10).map(({ name }) => name)

  expect(marked).toEqual([
    'second table, same columns',
    'second table, more columns',
    'second table, fewer columns',
  ])
})

test('no damaged row counts as valid with values in the wrong columns', () => {
  expect(rows.flatMap(({ wrong }) => wrong)).toEqual([])
})

test('a surplus delimiter or quote is always repaired', () => {
  const mendable = rows.filter(({ name }) => /^(more|quote)/.test(name))

  expect(mendable.length).toBeGreaterThan(700)
  expect(mendable.filter(({ score }) => score < 10)).toEqual([])
})
