import { getEvaluation } from '../../api/contract/appraisal/evaluations.ts'
import { type Answer, isEmpty } from '../../api/learn/answers.ts'
import { equalValues, type Finding } from '../../api/learn/decide.ts'
import { learn } from '../../api/learn/learn.ts'
import type { MovedField, Reading } from '../../sync/records/named-fields.ts'
import { type JsonPath, valueAt } from '../../values/json-path.ts'
import { plural } from '../../values/text.ts'
import { type AppraisalWire, defaultWire } from '../../values/wire.ts'

/** Fewer evaluations without a field are no proof that it is gone, and fewer before are none that it was there. */
const fewest = 20
/** The share of the earlier evaluations that had it. */
const mostlyFilled = 0.95
/** Evaluations that were read before and after, for each setting: more prove no more. */
const enoughRecords = 40

/** Of these settings, those whose field newer evaluations do not have. */
export function findMoved(
  readings: readonly Reading[],
  settings: Readonly<Record<string, JsonPath>>,
  wire: AppraisalWire,
): MovedField[] {
  const gone = Object.entries(settings).flatMap(([setting, path]) => {
    const isFilled = ({ record }: Reading) => !isEmpty(valueAt(record, path))
    const until = readings.findLastIndex(isFilled) + 1
    const before = lastOfEach(readings.slice(0, until))
    const after = lastOfEach(readings.slice(until))
    const filled = [...before.values()].filter(isFilled).length
    if (after.size < fewest || before.size < fewest || filled < before.size * mostlyFilled)
      return []
    const counts = `in none of the newest ${plural(after.size, 'answer')}, in ${filled} of ${before.size} before`
    const records = [...after.keys()].filter((id) => before.has(id)).slice(-enoughRecords)
    return [{ setting, counts, records }]
  })
  const both = new Set(gone.flatMap(({ records }) => records))
  const answers = readings
    .filter(({ id }) => both.has(id))
    .map(({ id, record }): Answer => {
      return { operation: getEvaluation.name, request: { evalid: id }, body: [record] }
    })
  const findings = answers.length === 0 ? [] : learn(answers, { ...defaultWire, appraisal: wire })
  return gone.map(({ setting, counts, records }) => {
    const found = findings.find((one) => one.setting === setting)
    const paths = found === undefined ? [] : newPaths(found)
    const evidence = paths.length === 1 ? `${counts}; ${found!.evidence}` : counts
    return { setting, paths, evidence, records }
  })
}

/** Where the field is now: the path that is proved, or those that are proved alike. */
function newPaths({ proposal, path, evidence, candidates }: Finding): readonly string[] {
  if (proposal !== null) return [path!]
  return evidence === equalValues ? candidates.map((one) => one.path) : []
}

function lastOfEach(readings: readonly Reading[]): Map<number, Reading> {
  return new Map(readings.map((reading) => [reading.id, reading]))
}
