import type { Person } from '../../values/person.ts'
import {
  contactTerms,
  distinctTerms,
  isName,
  personTerms,
  plainTerms,
  possibleContactTerms,
  type SearchTerm,
  termId,
} from '../screen/search-terms.ts'
import { phraseKey } from '../screen/tokenize.ts'
import type { ErasureWork, EvaluationKey } from './erasure-work.ts'
import { buildPatterns } from './pattern.ts'
import { isSamePerson, type NamedPersons, readGroups, readPersons } from './persons.ts'
import { type Hit, matchesTerms } from './scan.ts'

/** An evaluation of the customer, with every spelling of their data. */
export interface Found extends EvaluationKey {
  readonly persons: readonly Person[]
  /** Other people who were its customer, before or after. */
  readonly otherPersons: readonly Person[]
}

/** The customer to erase, and where they were found. */
export interface Findings {
  readonly found: readonly Found[]
  /** Evaluations that were the customer's and now have another customer, who stays. */
  readonly former: readonly Found[]
  /** Terms that name only this customer: those requested, and those that no other customer has. */
  readonly terms: readonly SearchTerm[]
  /** Terms that name others too: removed only from the customer's own evaluations. */
  readonly shared: readonly SearchTerm[]
  /** Shared terms that are names of salespeople or rooftops. */
  readonly dealerNames: readonly SearchTerm[]
  /** Evaluations of other customers that contain a term. */
  readonly mentions: readonly EvaluationKey[]
  /** Rows outside of evaluations that contain a term. */
  readonly otherRows: readonly Hit[]
  /** Evaluations of other customers with the same name, phone or address. */
  readonly others: readonly EvaluationKey[]
}

/** Finds the evaluations of a customer by their contact, or starts with those given. Matches whole values of the
 *  customer's fields, or of fields that nothing names where the customer's are empty: a mention in a text does not make someone the customer. */
export async function findCustomer(
  work: ErasureWork,
  requested: readonly SearchTerm[],
  begin: readonly EvaluationKey[],
): Promise<Findings> {
  const groups = await readGroups(work.db)
  const found = new Map<string, Found>()
  const former: Found[] = []
  for (const { key, named } of await readPersons(work, begin))
    found.set(evaluationKey(key), {
      ...key,
      ...splitPersons(named, (person) => named.current.includes(person)),
    })
  const foundPersons = [...found.values()].flatMap(({ persons }) => persons)
  const emails = foundPersons.flatMap(contactTerms).filter(({ kind }) => kind === 'email')
  const foundNames = new Set(foundPersons.map(({ name }) => phraseKey(name ?? '')))
  const seeds = requested.length > 0 ? requested : emails
  const candidates = await evaluationsNaming(work, groups, seeds)
  const unknown = candidates.filter((candidate) => !found.has(evaluationKey(candidate)))
  for (const { key: candidate, named } of await readPersons(work, unknown)) {
    const isTheirs = (person: Person) =>
      (requested.length > 0 ? possibleContactTerms : contactTerms)(person).some(({ kind, key }) =>
        seeds.some((seed) => seed.kind === kind && seed.key === key),
      ) &&
      // An e-mail that was not requested may be shared, so the name must be the same.
      (requested.length > 0 || foundNames.has(phraseKey(person.name ?? '')))
    const match = { ...candidate, ...splitPersons(named, isTheirs) }
    if (match.persons.length === 0) continue
    const isCurrent = named.current.every((person) => match.persons.includes(person))
    if (isCurrent) found.set(evaluationKey(candidate), match)
    else former.push(match)
  }
  return await findMentions(work, groups, requested, { found: [...found.values()], former })
}

/** Separates the customer from other people in an evaluation: a salesperson may have entered the wrong one first. */
function splitPersons(
  { all, current }: NamedPersons,
  isCustomer: (person: Person) => boolean,
): Pick<Found, 'persons' | 'otherPersons'> {
  const everyone = [...new Set([...current, ...all])]
  const known = everyone.filter(isCustomer)
  const isTheirs = (person: Person) =>
    known.some((one) => one === person || isSamePerson(one, person))
  return {
    persons: everyone.filter(isTheirs),
    otherPersons: everyone.filter((person) => !isTheirs(person)),
  }
}

/** Groups the evaluations of a contact by person: an e-mail or phone may belong to a family, or to the dealer. People are
 *  distinguished by their full names alone. Evaluations without a name join the first person. */
export function distinctPeople(evaluations: readonly Found[]): readonly (readonly Found[])[] {
  const people: { readonly names: Set<string>; readonly evaluations: Found[] }[] = []
  const nameless: Found[] = []
  for (const evaluation of evaluations) {
    const names = new Set(evaluation.persons.flatMap(fullNames))
    if (names.size === 0) nameless.push(evaluation)
    else {
      const same = people.filter((one) => !one.names.isDisjointFrom(names))
      const merged = {
        names: new Set([...names, ...same.flatMap((one) => [...one.names])]),
        evaluations: [...same.flatMap((one) => one.evaluations), evaluation],
      }
      people.splice(0, people.length, ...people.filter((one) => !same.includes(one)), merged)
    }
  }
  const [first, ...others] = people.map((one) => one.evaluations)
  if (first === undefined) return nameless.length === 0 ? [] : [nameless]
  return [[...first, ...nameless], ...others]
}

function fullNames({ name }: Found['persons'][number]): string[] {
  const noFields = { email: null, phone: null, address: null, suburb: null, plate: null }
  return personTerms({ ...noFields, name })
    .filter(isName)
    .map(({ key }) => key)
}

type Groups = Awaited<ReturnType<typeof readGroups>>

async function evaluationsNaming(
  { search, tables }: ErasureWork,
  groups: Groups,
  terms: readonly SearchTerm[],
): Promise<EvaluationKey[]> {
  const sources = ['pii.evaluation_customer', 'raw.payload', 'ops.quarantine']
  const searched = tables.filter(({ name }) => sources.includes(name))
  const hits = await search(searched, buildPatterns(terms))
  return evaluationKeys(hits, groups)
}

function evaluationKeys(hits: readonly Hit[], groups: Groups): EvaluationKey[] {
  const keys = hits.flatMap(({ evaluation }) => {
    const group = evaluation && groups.get(evaluation.rooftopId)
    return group ? [{ ...group, evalId: evaluation.evalId }] : []
  })
  return [...new Map(keys.map((key) => [evaluationKey(key), key])).values()]
}

/** Finds where else in the warehouse the customer is named. */
async function findMentions(
  { db, tables, wire, search }: ErasureWork,
  groups: Groups,
  requested: readonly SearchTerm[],
  { found, former }: Pick<Findings, 'found' | 'former'>,
): Promise<Findings> {
  const known = [...found, ...former]
  const persons = known.flatMap((each) => each.persons)
  const all = distinctTerms([...requested, ...persons.flatMap(personTerms)])
  const anyOf = plainTerms(all)
  const matches = await search(tables, buildPatterns(all, uniqueRooftops(known)))
  const theirs = new Set(known.map(evaluationKey))
  const isOwnRow = ({ evaluation }: Hit) => {
    const group = evaluation && groups.get(evaluation.rooftopId)
    return group != null && theirs.has(evaluationKey({ ...group, evalId: evaluation!.evalId }))
  }
  // The customer's own rows are erased in any case; with hundreds of evaluations they are most of the hits.
  const hits = matches.filter((hit) => !isOwnRow(hit) && matchesTerms(hit, anyOf))
  const otherKeys = evaluationKeys(hits, groups).filter((key) => !theirs.has(evaluationKey(key)))
  const inAll = new Set(all.map(termId))
  const carriedBy = (people: readonly Person[]) =>
    people
      .flatMap(personTerms)
      .map(termId)
      .filter((term) => inAll.has(term))
  const carried = new Set(carriedBy(former.flatMap((each) => each.otherPersons)))
  const others: EvaluationKey[] = []
  for (const { key: otherKey, named } of await readPersons({ db, wire }, otherKeys)) {
    const carries = carriedBy(named.all)
    if (carries.length > 0) others.push(otherKey)
    for (const term of carries) carried.add(term)
  }
  const dealerRows = hits.filter(isDealerRow)
  const requestedIds = new Set(requested.map(termId))
  const dealerNames = all.filter(
    (term) =>
      !requestedIds.has(termId(term)) &&
      dealerRows.some((hit) => matchesTerms(hit, plainTerms([term]))),
  )
  const isShared = (term: SearchTerm) =>
    dealerNames.includes(term) || (!requestedIds.has(termId(term)) && carried.has(termId(term)))
  const terms = all.filter((term) => !isShared(term))
  const naming = plainTerms(terms)
  const named = hits.filter((hit) => matchesTerms(hit, naming))
  return {
    found,
    former,
    terms,
    shared: all.filter(isShared),
    dealerNames,
    mentions: evaluationKeys(named, groups).filter((key) => !theirs.has(evaluationKey(key))),
    otherRows: named.filter((hit) => hit.evaluation === null && !isDealerRow(hit)),
    others,
  }
}

const dealerTables = [
  'core.app_user',
  'pii.app_user_email',
  'core.rooftop',
  'core.rooftop_group',
  'ops.bi_access',
]

/** Whether a row names salespeople or rooftops of the dealer. It stays, even if a customer has the same name. */
function isDealerRow({ table, texts }: Hit): boolean {
  if (dealerTables.includes(table.name)) return true
  const endpoint = table.columns.findIndex(({ name }) => name === 'endpoint')
  return table.name === 'raw.payload' && texts[endpoint] === 'getuserlist'
}

/** All rooftops of the customer's dealer groups. */
export function uniqueRooftops(found: readonly EvaluationKey[]): number[] {
  return [...new Set(found.flatMap(({ rooftopIds }) => rooftopIds))]
}

/** An evaluation as a key for maps and sets. */
export function evaluationKey({ groupId, evalId }: EvaluationKey): string {
  return `${groupId} ${evalId}`
}
