import {
  plainTerms,
  termId,
  termsForOwnEvaluation,
  unionOfTerms,
  withoutNames,
  withoutWholeTerms,
} from '../screen/search-terms.ts'
import { isStillThere } from './erase-evaluation.ts'
import { addCounts, type Counts, type ErasureWork } from './erasure-work.ts'
import { evaluationKey, type Findings, uniqueRooftops } from './find-customer.ts'
import { buildPatterns } from './pattern.ts'
import { readGroups } from './persons.ts'
import type { Receipt } from './receipt.ts'
import { type Hit, matchesTerms, rowsOfEvaluations } from './scan.ts'

/** Searches all texts of the warehouse for the customer again. Within the erasure, `work.search` may skip what was
 *  searched before and not written since. */
export async function rescan(
  work: ErasureWork,
  { found, former, terms, shared, dealerNames }: Findings,
): Promise<Receipt['rescan']> {
  const groups = await readGroups(work.db)
  const isDealerName = new Set(dealerNames.map(termId))
  const naming = plainTerms(terms)
  // Built once for each evaluation: building it for each row would take most of the time.
  const termsByEvaluation = new Map(
    found.map((each) => {
      const theirs = each.persons.flatMap(termsForOwnEvaluation)
      const named = plainTerms(theirs.filter((term) => !isDealerName.has(termId(term))))
      return [evaluationKey(each), unionOfTerms(naming, named)] as const
    }),
  )
  const hits = await work.search(
    work.tables,
    buildPatterns([...terms, ...shared], uniqueRooftops([...found, ...former])),
  )
  for (const each of Map.groupBy(found, ({ groupId }) => groupId).values())
    for (const table of work.tables) {
      const ids = each.map(({ evalId }) => evalId)
      hits.push(...(await rowsOfEvaluations(work.db, table, each[0]!.rooftopIds, ids)))
    }
  const anyOf = plainTerms([...terms, ...shared])
  const evaluationTerms = (hit: Hit) => {
    const group = hit.evaluation && groups.get(hit.evaluation.rooftopId)
    return (
      group && termsByEvaluation.get(evaluationKey({ ...group, evalId: hit.evaluation!.evalId }))
    )
  }
  const resultOf = (hit: Hit): 'left' | 'others' | 'clean' => {
    const theirs = evaluationTerms(hit)
    const inner = withoutWholeTerms(theirs ?? naming)
    const sought = hit.isForeign ? withoutNames(inner) : inner
    const erased = { scope: theirs ? 'customer' : 'mention', terms: sought } as const
    if (isStillThere(work, hit, erased)) return 'left'
    return matchesTerms(hit, sought) || matchesTerms(hit, anyOf) ? 'others' : 'clean'
  }
  const once = new Map(hits.map((hit) => [`${hit.table.name} ${hit.ctid}`, hit]))
  const results = Map.groupBy(once.values(), resultOf)
  const count = (of: 'left' | 'others') => countByTable(results.get(of) ?? [])
  return { tables: work.tables.length, left: count('left'), others: count('others') }
}

function countByTable(hits: readonly Hit[]): Counts {
  return addCounts(...hits.map(({ table }) => ({ [table.name]: 1 })))
}
