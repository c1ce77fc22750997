import { expect, test } from 'vitest'
import type { Answer } from '#src/api/learn/answers.ts'
import { type Finding, isProved } from '#src/api/learn/decide.ts'
import { learn } from '#src/api/learn/learn.ts'
import { withSubstitutes } from '#src/api/learn/substitute.ts'
import { recordedNames } from '#src/app/commands/recorded-names.ts'
import { maskBy } from '#src/app/commands/wire-record.ts'
import { otherNames } from '#src/sandbox/other-names.ts'
import { defaultWire } from '#src/values/wire.ts'
import { askOther, otherService, wrongIn } from '../../api/learn/other-services.ts'
import { caseCount } from '../../support/cases.ts'

const groupOf: Readonly<Record<string, string>> = {
  ...{ geteval: 'evaluation', getevallist: 'evalList', getpastppsrsearch: 'pastCheck' },
  ...{ getpastcarhistory: 'pastCheck', ppsrwatch: 'watch' },
}
const mask = maskBy(defaultWire.appraisal)

/** Of settings that the recording is about: other operations answer as the usual sandbox, by other names. */
function recordedFindings(findings: readonly Finding[], answers: readonly Answer[]): Finding[] {
  const groups = new Set(answers.map(({ operation }) => groupOf[operation]))
  return findings.filter(({ setting }) => groups.has(setting.split('.')[1]))
}

test('the sandbox with the answers of a recording gives the learner what the recording gives, and nothing wrong', async () => {
  const seeds = caseCount(15, 6)
  const wrong: string[] = []
  const lost: string[] = []
  let proved = 0
  for (let seed = 1; seed <= seeds; seed += 1) {
    const service = await otherService(seed)
    const { answers } = withSubstitutes(service.answers, mask)
    const played = recordedNames(answers, defaultWire)
    const world = { seed: seed + 500, all: seed % 2 === 0 }
    const again = learn((await askOther(played, world)).answers, defaultWire)
    // The recorded service, with the data that the sandbox has now.
    const same = learn((await askOther(otherNames(seed), world)).answers, defaultWire)

    wrong.push(
      ...wrongIn(recordedFindings(again, answers), service).map((text) => `${seed} ${text}`),
    )
    for (const { setting, path } of learn(answers, defaultWire).filter(isProved)) {
      const [now, wanted] = [again, same].map((all) => all.find((one) => one.setting === setting)!)
      proved += 1
      if (isProved(wanted!) && !(isProved(now!) && now!.path === path))
        lost.push(`${seed} ${setting}: ${now!.state} ${now!.path}, it was ${path}`)
    }
  }

  expect(wrong).toEqual([])
  expect(lost).toEqual([])
  expect(proved).toBeGreaterThan(seeds * 2)
}, 600_000)

/** What the sandbox sends for an evaluation and for the list, as `wire check` asks, in the shape of these answers. */
async function askShaped(answers: readonly Answer[]) {
  const { answers: got } = await askOther(recordedNames(answers, defaultWire), { seed: 3 })
  const of = (name: string) => got.filter(({ operation }) => operation === name)
  const records = of('geteval').flatMap(({ body }) => body as Record<string, unknown>[])
  return { records, lists: of('getevallist').map(({ body }) => body) }
}

const listed = (ids: readonly number[]): Answer => ({
  operation: 'getevallist',
  request: { startdate: Date.parse('2026-02-01') / 1000 },
  body: {
    total: ids.length,
    rows: ids.map((key) => ({ key, again: String(key), lane: `L${key}` })),
  },
})
const evaluation = (id: number, more: object): Answer => ({
  operation: 'geteval',
  request: { evalid: id },
  body: [
    {
      ...{ EvalID: id, VIN: null, UserName: `Sam ${id}`, CreatedAt: '2026-03-01T10:00:00Z' },
      ...{ EntryDate: '2026-03-01 10:00:00', UpdatedAt: `2026-03-0${id % 9}T11:00:00Z` },
      ...more,
    },
  ],
})
const ids = [9_000_001, 9_000_002, 9_000_003]

test('what was equal to a value of the sandbox in its record is equal to it now; the rest stays', async () => {
  const answers = ids.map((id) =>
    evaluation(id, {
      Seller: { Id: `no ${id}`, Who: `Sam ${id}` },
      Echo: [{ Number: String(id) }],
      Lanes: [id, 4],
      At: `2026-03-0${id % 9} 11:00:00`,
      Own: `mine ${id}`,
    }),
  )

  const { records, lists } = await askShaped([listed(ids), ...answers])

  expect(records.length).toBeGreaterThan(5)
  for (const one of records) {
    expect(one['Echo']).toEqual([{ Number: String(one['EvalID']) }])
    expect(one['At']).toBe(String(one['UpdatedAt']).slice(0, 19).replace('T', ' '))
    expect(one['Own']).toMatch(/^mine 900000\d$/)
    expect(one['Lanes']).toEqual([Number(String(one['Own']).slice(5)), 4])
    expect(one['Seller']).toEqual({
      Id: `no ${String(one['Own']).slice(5)}`,
      Who: one['UserName'] ?? `Sam ${String(one['Own']).slice(5)}`,
    })
  }
  // Two paths have the id: which is meant is open, and both have the one of the sandbox.
  const [list] = lists as { total: number; rows: Record<string, unknown>[] }[]
  expect(list!.total).toBe(3)
  const known = new Set(records.map((one) => one['EvalID']))
  expect(list!.rows.some(({ key }) => known.has(key))).toBe(true)
  expect(list!.rows.every(({ key, again }) => again === String(key))).toBe(true)
})

test('a list whose ids are not known is sent as recorded, and an operation that found nothing finds nothing', async () => {
  const nothing = ['getpastppsrsearch', 'getpastcarhistory'].map((operation) => ({
    ...{ operation, request: { evalid: 1 }, body: [] },
  }))

  const names = recordedNames([listed(ids), ...nothing], defaultWire)
  const { answers } = await askOther(names, { seed: 3, all: true })

  const bodies = (name: string) =>
    answers.filter(({ operation }) => operation === name).map(({ body }) => body)
  expect(bodies('getevallist')[0]).toEqual(listed(ids).body)
  expect(bodies('getpastppsrsearch').length).toBeGreaterThan(5)
  expect(new Set(bodies('getpastppsrsearch').map((body) => JSON.stringify(body)))).toEqual(
    new Set(['[]']),
  )
})

test('hostile keys and shapes of a recording change nothing but their record', async () => {
  const hostile = ids.map((id, at) =>
    evaluation(id, {
      ...(JSON.parse(`{"__proto__": {"polluted": ${id}}}`) as object),
      constructor: { prototype: { polluted: id } },
      'a.b': id,
      Photos: 'none',
      customFields: [[[]]],
      Vehicle: at === 0 ? null : at === 1 ? 7 : { Marque: 'Toyota' },
    }),
  )

  const { records } = await askShaped([listed(ids), ...hostile])

  expect(({} as Record<string, unknown>)['polluted']).toBe(undefined)
  expect(records.length).toBeGreaterThan(5)
  expect(records.every((one) => Object.getPrototypeOf(one) === Object.prototype)).toBe(true)
  expect(records.every(({ Photos }) => Array.isArray(Photos))).toBe(true)
})
