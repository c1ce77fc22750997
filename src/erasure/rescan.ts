import { type Findings, keyOf, rooftopsOf } from './find.ts'
import {
  bothNeedles,
  identify,
  ownNeedlesOf,
  plainNeedles,
  withoutNames,
  withoutWholes,
} from './needles.ts'
import { isStillThere } from './own.ts'
import { patternsOf } from './pattern.ts'
import { readGroups } from './persons.ts'
import type { Receipt } from './receipt.ts'
import { type Hit, names, rowsOfEvaluations } from './scan.ts'
import { addCounts, type Counts, type ErasureWork } from './work.ts'

/** Searches every text of the warehouse for the customer once more. Within the erasure, `work.search` may leave out what it
 *  has searched ahead and nobody has written since. */
export async function rescan(
  work: ErasureWork,
  { found, former, needles, shared, ofOwnPeople }: Findings,
): Promise<Receipt['rescan']> {
  const groups = await readGroups(work.client)
  const isOurs = new Set(ofOwnPeople.map(identify))
  const naming = plainNeedles(needles)
  // Once for each evaluation: of many rows of many evaluations, building it again takes most of the time.
  const own = new Map(
    found.map((each) => {
      const theirs = each.persons.flatMap(ownNeedlesOf)
      const named = plainNeedles(theirs.filter((needle) => !isOurs.has(identify(needle))))
      return [keyOf(each), bothNeedles(naming, named)] as const
    }),
  )
  const hits = await work.search(
    work.tables,
    patternsOf([...needles, ...shared], rooftopsOf([...found, ...former])),
  )
  for (const each of Map.groupBy(found, ({ groupId }) => groupId).values())
    for (const table of work.tables) {
      const ids = each.map(({ evalId }) => evalId)
      hits.push(...(await rowsOfEvaluations(work.client, table, each[0]!.rooftopIds, ids)))
    }
  const anyOf = plainNeedles([...needles, ...shared])
  const ownOf = (hit: Hit) => {
    const group = hit.evaluation && groups.get(hit.evaluation.rooftopId)
    return group && own.get(keyOf({ ...group, evalId: hit.evaluation!.evalId }))
  }
  const verdict = (hit: Hit): 'left' | 'others' | 'clean' => {
    const theirs = ownOf(hit)
    const inner = withoutWholes(theirs ?? naming)
    const sought = hit.isForeign ? withoutNames(inner) : inner
    const erased = { scope: theirs ? 'customer' : 'mention', needles: sought } as const
    if (isStillThere(work, hit, erased)) return 'left'
    return names(hit, sought) || names(hit, anyOf) ? 'others' : 'clean'
  }
  const once = new Map(hits.map((hit) => [`${hit.table.name} ${hit.place}`, hit]))
  const verdicts = Map.groupBy(once.values(), verdict)
  const count = (of: 'left' | 'others') => countByTable(verdicts.get(of) ?? [])
  return { tables: work.tables.length, left: count('left'), others: count('others') }
}

function countByTable(hits: readonly Hit[]): Counts {
  return addCounts(...hits.map(({ table }) => ({ [table.name]: 1 })))
}
