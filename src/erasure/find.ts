import type { Person } from '../streams/stream.ts'
import {
  contactsOf,
  distinctNeedles,
  identify,
  type Needle,
  needlesOf,
  plainNeedles,
} from './needles.ts'
import { patternsOf } from './pattern.ts'
import { personsOf, readGroups } from './persons.ts'
import { type Hit, names, scan } from './scan.ts'
import { isOfOwnPeople } from './own-people.ts'
import type { ErasureWork, EvaluationKey } from './work.ts'
import { phraseOf } from './words.ts'

/** An evaluation of the customer, with everybody whom it has named. */
export interface Found extends EvaluationKey {
  readonly persons: readonly Person[]
}

/** Who is to be erased, and where they were found. */
export interface Findings {
  readonly found: readonly Found[]
  /** What names the customer anywhere: what was asked for, and what no other customer carries. */
  readonly needles: readonly Needle[]
  /** What names them, and others too: it is taken out of their own evaluations alone. */
  readonly shared: readonly Needle[]
  /** Of these, what salespeople and rooftops are called. */
  readonly ofOwnPeople: readonly Needle[]
  /** Evaluations of other customers that hold a needle, with their rows. */
  readonly mentions: readonly EvaluationKey[]
  /** Rows of no evaluation that hold a needle. */
  readonly elsewhere: readonly Hit[]
  /** Evaluations of other customers with the same name, phone or address. */
  readonly others: readonly EvaluationKey[]
}

/** Finds the evaluations of a customer by their contact, or begins with those given. Matches whole values of the
 *  customer's fields: a mention in a text makes nobody the customer. */
export async function findCustomer(
  work: ErasureWork,
  asked: readonly Needle[],
  begin: readonly EvaluationKey[],
): Promise<Findings> {
  const groups = await readGroups(work.client)
  const found = new Map<string, Found>()
  for (const key of begin) found.set(keyOf(key), { ...key, persons: await personsOf(work, key) })
  const own = [...found.values()].flatMap(({ persons }) => persons)
  const emails = own.flatMap(contactsOf).filter(({ kind }) => kind === 'email')
  const ownNames = new Set(own.map(({ name }) => phraseOf(name ?? '')))
  const seeds = asked.length > 0 ? asked : emails
  const candidates = await evaluationsNaming(work, groups, seeds)
  for (const candidate of candidates) {
    const persons = await personsOf(work, candidate)
    const isTheirs = persons.some(
      (person) =>
        contactsOf(person).some(({ kind, key }) =>
          seeds.some((seed) => seed.kind === kind && seed.key === key),
        ) &&
        // An e-mail that was not asked for may be anybody's: the name must be the same.
        (asked.length > 0 || ownNames.has(phraseOf(person.name ?? ''))),
    )
    if (isTheirs) found.set(keyOf(candidate), { ...candidate, persons })
  }
  return await beyond(work, groups, asked, [...found.values()])
}

type Groups = Awaited<ReturnType<typeof readGroups>>

async function evaluationsNaming(
  { client, tables }: ErasureWork,
  groups: Groups,
  needles: readonly Needle[],
): Promise<EvaluationKey[]> {
  const sources = ['pii.evaluation_customer', 'raw.payload', 'ops.quarantine']
  const searched = tables.filter(({ name }) => sources.includes(name))
  const hits = await scan(client, searched, patternsOf(needles))
  return evaluationsOf(hits, groups)
}

function evaluationsOf(hits: readonly Hit[], groups: Groups): EvaluationKey[] {
  const keys = hits.flatMap(({ evaluation }) => {
    const group = evaluation && groups.get(evaluation.rooftopId)
    return group ? [{ ...group, evalId: evaluation.evalId }] : []
  })
  return [...new Map(keys.map((key) => [keyOf(key), key])).values()]
}

/** Where else in the warehouse the customer is named. */
async function beyond(
  { client, tables, wire }: ErasureWork,
  groups: Groups,
  asked: readonly Needle[],
  found: readonly Found[],
): Promise<Findings> {
  const persons = found.flatMap((each) => each.persons)
  const all = distinctNeedles([...asked, ...persons.flatMap(needlesOf)])
  const anyOf = plainNeedles(all)
  const matches = await scan(client, tables, patternsOf(all))
  const hits = matches.filter((hit) => names(hit, anyOf))
  const theirs = new Set(found.map(keyOf))
  const strangers = evaluationsOf(hits, groups).filter((key) => !theirs.has(keyOf(key)))
  const carried = new Set<string>()
  const others: EvaluationKey[] = []
  const known = new Set(all.map(identify))
  for (const stranger of strangers) {
    const carries = (await personsOf({ client, wire }, stranger))
      .flatMap(needlesOf)
      .map(identify)
      .filter((needle) => known.has(needle))
    if (carries.length > 0) others.push(stranger)
    for (const needle of carries) carried.add(needle)
  }
  const ownPeople = hits.filter(isOfOwnPeople)
  const isAsked = new Set(asked.map(identify))
  const ofOwnPeople = all.filter(
    (needle) =>
      !isAsked.has(identify(needle)) && ownPeople.some((hit) => names(hit, plainNeedles([needle]))),
  )
  const isShared = (needle: Needle) =>
    ofOwnPeople.includes(needle) ||
    (!isAsked.has(identify(needle)) && carried.has(identify(needle)))
  const needles = all.filter((needle) => !isShared(needle))
  const naming = plainNeedles(needles)
  const named = hits.filter((hit) => names(hit, naming))
  return {
    found,
    needles,
    shared: all.filter(isShared),
    ofOwnPeople,
    mentions: evaluationsOf(named, groups).filter((key) => !theirs.has(keyOf(key))),
    elsewhere: named.filter((hit) => hit.evaluation === null && !isOfOwnPeople(hit)),
    others,
  }
}

export function keyOf({ groupId, evalId }: EvaluationKey): string {
  return `${groupId} ${evalId}`
}
