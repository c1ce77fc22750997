// node test/api/learn/figures.ts --from 10001 --to 13000: what the learner finds at services with other names, as the tables of
// src/api/learn/README.md. --all: every evaluation and check was read, as after a night; otherwise what `wire check` reads. --plain: the
// services have no fields beside the settings that are easily taken for them.
import { parseArgs } from 'node:util'
import type { Finding, Rule } from '#src/api/learn/decide.ts'
import { learn } from '#src/api/learn/learn.ts'
import * as rules from '#src/api/learn/rules.ts'
import { type Decoys, type OtherNames, otherNames } from '#src/sandbox/other-names.ts'
import { firstCandidate, valueAt } from '#src/values/json-path.ts'
import { defaultWire } from '#src/values/wire.ts'
import { askOther, type OtherService, wrongIn } from './other-services.ts'

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '10001' },
    to: { type: 'string', default: '10300' },
    all: { type: 'boolean', default: false },
    plain: { type: 'boolean', default: false },
  },
})

const named = new Map(
  [...rules.evaluationRules, ...Object.values(rules).filter((one) => 'setting' in one)].map(
    (rule) => [(rule as Rule).setting, (rule as Rule).isNamed],
  ),
)
const groups = {
  evalList: 'list',
  evaluation: 'evaluation',
  pastCheck: 'past checks',
  watch: 'watch',
}
const results = [
  'proved',
  'suggested',
  'another path, or doubtful',
  'ambiguous',
  'ambiguous, without it',
  'absent',
  'unseen',
  'wrong',
]

function groupOf({ setting }: Finding): string | undefined {
  return Object.entries(groups).find(([name]) => setting.includes(`.${name}.`))?.[1]
}

/** What a finding is worth at the service. */
function judge(finding: Finding, service: OtherService): string {
  const { state, path, candidates } = finding
  if (wrongIn([finding], service).length > 0) return 'wrong'
  const truth = firstCandidate(valueAt(service.wire, finding.setting) as string)
  if (state === 'confirmed' || state === 'elsewhere') return 'proved'
  if (state === 'suggested' || state === 'unproved' || state === 'doubtful')
    return path === truth ? 'suggested' : 'another path, or doubtful'
  if (state === 'ambiguous')
    return candidates.some((one) => one.path === truth) ? state : 'ambiguous, without it'
  return state === 'refuted' ? 'unseen' : state
}

/** Its encodings alone. */
function withoutDecoys({ decoys }: OtherNames): Decoys {
  return {
    encode: decoys.encode,
    evaluation: (body) => body,
    listItem: (body) => body,
    list: (body) => body,
    pastChecks: () => null,
    watchedChecks: () => null,
    watch: (body) => body,
  }
}

const counts = new Map<string, Map<string, number>>()
let services = 0
let wrongServices = 0
let mostCalls = 0
for (let seed = Number(values.from); seed <= Number(values.to); seed += 1) {
  const names = otherNames(seed)
  const service = await askOther(
    values.plain ? { ...names, decoys: withoutDecoys(names) } : names,
    {
      ...{ seed, all: values.all },
    },
  )
  const findings = learn(service.answers, defaultWire)
  services += 1
  if (wrongIn(findings, service).length > 0) wrongServices += 1
  mostCalls = Math.max(mostCalls, service.requests.count())
  const byGroup = Map.groupBy(findings, groupOf)
  for (const finding of findings) {
    const group = groupOf(finding)
    // No vehicle of this service was checked.
    if (byGroup.get(group)!.every(({ state }) => state === 'unseen')) continue
    const isNamed = named.get(finding.setting)
    if (group === undefined || isNamed === undefined) continue
    const truth = firstCandidate(valueAt(service.wire, finding.setting) as string)
    const row = `${group} | ${isNamed(truth) ? 'of the trade' : 'another'}`
    const ofRow = counts.get(row) ?? new Map<string, number>()
    counts.set(row, ofRow)
    const result = judge(finding, service)
    ofRow.set(result, (ofRow.get(result) ?? 0) + 1)
  }
}
console.log(`| settings of the | word | settings | ${results.join(' | ')} |`)
console.log(`|---|---|${'---|'.repeat(results.length + 1)}`)
for (const [row, ofRow] of [...counts].sort()) {
  const total = ofRow.values().reduce((sum, count) => sum + count, 0)
  const shares = results.map(
    (result) => `${((100 * (ofRow.get(result) ?? 0)) / total).toFixed(1)} %`,
  )
  console.log(`| ${row} | ${total} | ${shares.join(' | ')} |`)
}
console.log(
  `${services} services, ${wrongServices} with a wrong finding, at most ${mostCalls} calls`,
)
