import type { CustomField } from './world-types.ts'

const usualFields: ReadonlyMap<string, CustomField> = new Map([
  ['Lead source', { type: 'select', options: ['Walk-in', 'Phone', 'Web'], value: null }],
  ['Keys handed over', { type: 'checkbox', options: null, value: null }],
])

/** The custom fields that each dealer group has configured [A §2 customFields]. */
export class ConfiguredFields {
  readonly #byGroup = new Map<string, Map<string, CustomField>>()

  /** The fields of the group by name, without values: those of its evaluations, else two defaults. */
  of(groupId: string): ReadonlyMap<string, CustomField> {
    return this.#byGroup.get(groupId) ?? usualFields
  }

  /** Adds fields; a name keeps its first definition. */
  add(groupId: string, fields: Readonly<Record<string, CustomField>>): void {
    for (const [name, field] of Object.entries(fields)) {
      const known = this.#byGroup.get(groupId) ?? new Map<string, CustomField>()
      this.#byGroup.set(groupId, known)
      if (!known.has(name)) known.set(name, { ...field, value: null })
    }
  }
}
