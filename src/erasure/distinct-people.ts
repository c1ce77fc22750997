import type { Found } from './find-customer.ts'
import { isName, termsOf } from './search-terms.ts'

/** Groups the evaluations of a contact by person: an e-mail or phone may belong to a family, or to the dealer. People are
 *  distinguished by their full names alone. Evaluations without a name join the first person. */
export function distinctPeople(evaluations: readonly Found[]): readonly (readonly Found[])[] {
  const people: { readonly names: Set<string>; readonly evaluations: Found[] }[] = []
  const nameless: Found[] = []
  for (const evaluation of evaluations) {
    const names = new Set(evaluation.persons.flatMap(namesOf))
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

function namesOf({ name }: Found['persons'][number]): string[] {
  const noFields = { email: null, phone: null, address: null, suburb: null, plate: null }
  return termsOf({ ...noFields, name })
    .filter(isName)
    .map(({ key }) => key)
}
