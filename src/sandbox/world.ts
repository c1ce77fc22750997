import { avalanche } from '../values/hash32.ts'
import type { Dealers } from './generate-dealers.ts'
import { entrySecond, fieldsAt, isListed } from './lifecycle.ts'
import type {
  ApiKey,
  CustomField,
  DealerGroup,
  Evaluation,
  EvaluationPatch,
  Rooftop,
  Salesperson,
} from './world-types.ts'

/** The contents of a world. */
interface WorldContents extends Dealers {
  readonly evaluations: readonly Evaluation[]
}

/** Bounds on EntryDate in whole Unix seconds, both exclusive; undefined = open [A §4 /getevallist]. */
interface EntryBounds {
  readonly after: number | undefined
  readonly before: number | undefined
}

interface Entry {
  readonly second: number
  readonly evalId: number
}

/** The data of the service. Evaluations are immutable: a change replaces the evaluation by a new object. */
export class World {
  readonly groups: readonly DealerGroup[]
  readonly rooftops: readonly Rooftop[]
  readonly users: readonly Salesperson[]
  readonly keys: readonly ApiKey[]
  readonly configuredFields = new ConfiguredFields()
  readonly #evaluations = new Map<number, Evaluation>()
  /** Per rooftop, by creation, so that a window is found by binary search. */
  readonly #entries = new Map<string, Entry[]>()
  readonly #byVin = new Map<string, Set<number>>()
  readonly #byPlate = new Map<string, Set<number>>()
  readonly #poisons = new Map<number, Readonly<Record<string, unknown>>>()
  readonly #rooftops: ReadonlyMap<string, Rooftop>
  readonly #users: ReadonlyMap<number, Salesperson>
  #lastEvalId = 0

  constructor({ groups, rooftops, users, keys, evaluations }: WorldContents) {
    this.groups = groups
    this.rooftops = rooftops
    this.users = users
    this.keys = keys
    this.#rooftops = new Map(rooftops.map((rooftop) => [rooftop.uid, rooftop]))
    this.#users = new Map(users.map((user) => [user.userId, user]))
    for (const evaluation of evaluations) this.add(evaluation)
  }

  /** Number of evaluations in every state. */
  get size(): number {
    return this.#evaluations.size
  }

  evaluations(): Iterable<Evaluation> {
    return this.#evaluations.values()
  }

  /** Id for a new evaluation: above all existing ids. */
  get nextEvalId(): number {
    return this.#lastEvalId + 1
  }

  evaluation(evalId: number): Evaluation | undefined {
    return this.#evaluations.get(evalId)
  }

  rooftop(uid: string): Rooftop | undefined {
    return this.#rooftops.get(uid)
  }

  user(userId: number | null | undefined): Salesperson | undefined {
    return typeof userId === 'number' ? this.#users.get(userId) : undefined
  }

  /** The user of the group by id or e-mail: a request may have either [A §4]. */
  findUser(groupId: string, idOrEmail: string): Salesperson | undefined {
    const wanted = idOrEmail.toLowerCase()
    return this.users.find(
      (user) =>
        user.groupId === groupId &&
        (String(user.userId) === wanted || user.email.toLowerCase() === wanted),
    )
  }

  /** The listed evaluations of these rooftops, in an order that is neither by time nor by id, but always the same. */
  listed(rooftopUids: readonly string[], bounds: EntryBounds, now: Date): Evaluation[] {
    const found = rooftopUids
      .flatMap((uid) => entriesWithin(this.#entries.get(uid) ?? [], bounds))
      .map(({ evalId }) => this.#evaluations.get(evalId)!)
      .filter((evaluation) => isListed(evaluation, now))
    return found.sort((a, b) => avalanche(a.evalId) - avalanche(b.evalId))
  }

  /** Evaluations that have this VIN now, by id. */
  withVin(vin: string, now: Date): Evaluation[] {
    const wanted = plain(vin)
    return this.#found(this.#byVin.get(wanted)).filter(
      (evaluation) => plain(fieldsAt(evaluation, now).vin) === wanted,
    )
  }

  /** Evaluations that have this plate now, by id. */
  withPlate(plate: string, now: Date): Evaluation[] {
    const wanted = plain(plate)
    return this.#found(this.#byPlate.get(wanted)).filter(
      (evaluation) => plain(fieldsAt(evaluation, now).registration) === wanted,
    )
  }

  /** The wrong fields with which this evaluation is served. */
  poisonOf(evalId: number): Readonly<Record<string, unknown>> | undefined {
    return this.#poisons.get(evalId)
  }

  add(evaluation: Evaluation): void {
    const { evalId, rooftopUid, customFields } = evaluation
    const rooftop = this.#rooftops.get(rooftopUid)
    if (this.#evaluations.has(evalId)) throw new Error(`Evaluation ${evalId} is there already`)
    if (rooftop === undefined)
      throw new Error(`Evaluation ${evalId} is at rooftop ${rooftopUid}, which this world lacks`)
    this.configuredFields.add(rooftop.groupId, customFields)
    this.#lastEvalId = Math.max(this.#lastEvalId, evalId)
    const edits = evaluation.edits.toSorted(byInstant)
    this.#put({ ...evaluation, edits })
    const entries = valueFor(this.#entries, rooftopUid, () => [])
    const entry = { second: entrySecond(evaluation), evalId }
    entries.splice(firstFrom(entries, entry.second + 1), 0, entry)
  }

  complete(evalId: number, at: Date): void {
    this.#put({ ...this.#mustHave(evalId), completedAt: at })
  }

  edit(evalId: number, at: Date, patch: EvaluationPatch): void {
    const evaluation = this.#mustHave(evalId)
    this.#put({ ...evaluation, edits: [...evaluation.edits, { at, patch }].sort(byInstant) })
  }

  /** From `at` on the evaluation cannot be read, and is not listed unless `vanishedStaysListed` is set. */
  vanish(evalId: number, at: Date): void {
    this.#put({ ...this.#mustHave(evalId), vanishedAt: at })
  }

  /** Serves the evaluation with these fields of the answer overwritten (undefined: left out), until `removePoison`. */
  poison(evalId: number, patch: Readonly<Record<string, unknown>>): void {
    this.#mustHave(evalId)
    this.#poisons.set(evalId, patch)
  }

  removePoison(evalId: number): void {
    this.#poisons.delete(evalId)
  }

  #mustHave(evalId: number): Evaluation {
    const evaluation = this.#evaluations.get(evalId)
    if (evaluation === undefined) throw new Error(`This world has no evaluation ${evalId}`)
    return evaluation
  }

  /** The indexes hold every VIN and plate that it ever has; a look-up checks which one is current. */
  #put(evaluation: Evaluation): void {
    this.#evaluations.set(evaluation.evalId, evaluation)
    for (const { vin, registration } of [evaluation, ...evaluation.edits.map((e) => e.patch)]) {
      if (vin) valueFor(this.#byVin, plain(vin), () => new Set()).add(evaluation.evalId)
      if (registration)
        valueFor(this.#byPlate, plain(registration), () => new Set()).add(evaluation.evalId)
    }
  }

  #found(evalIds: ReadonlySet<number> | undefined): Evaluation[] {
    return [...(evalIds ?? [])]
      .sort((a, b) => a - b)
      .map((evalId) => this.#evaluations.get(evalId)!)
  }
}

function entriesWithin(entries: readonly Entry[], { after, before }: EntryBounds): Entry[] {
  const from = after === undefined ? 0 : firstFrom(entries, after + 1)
  const until = before === undefined ? entries.length : firstFrom(entries, before)
  return entries.slice(from, until)
}

/** Index of the first entry at or after the second. */
function firstFrom(entries: readonly Entry[], second: number): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (entries[middle]!.second < second) low = middle + 1
    else high = middle
  }
  return low
}

/** `getOrInsertComputed`, which exists only from Node 26 on. */
function valueFor<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

function byInstant(a: { readonly at: Date }, b: { readonly at: Date }): number {
  return a.at.getTime() - b.at.getTime()
}

function plain(text: string | null | undefined): string {
  return (text ?? '').replaceAll(/\s+/g, '').toUpperCase()
}

const usualFields: ReadonlyMap<string, CustomField> = new Map([
  ['Lead source', { type: 'select', options: ['Walk-in', 'Phone', 'Web'], value: null }],
  ['Keys handed over', { type: 'checkbox', options: null, value: null }],
])

/** The custom fields that each dealer group has configured [A §2 customFields]. */
class ConfiguredFields {
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
