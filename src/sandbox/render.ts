import { firstCandidate, type JsonPath } from '../values/json-path.ts'
import type { AppraisalWire } from '../values/wire.ts'
import { fieldsAt, isCompleted, reconTotal, showPhotos, updatedAt } from './lifecycle.ts'
import type { Decoys } from './other-names.ts'
import { photoLinkLifeMs, signLink } from './signed-link.ts'
import type { World } from './world.ts'
import type { Evaluation, EvaluationFields, StoredPhoto } from './world-types.ts'

/** A JSON object of an answer. */
export type JsonObject = Record<string, unknown>

/** How the world is rendered as JSON. */
export interface Rendering {
  readonly wire: AppraisalWire
  /** Start of signed photo links; empty until the sandbox listens: then its own address, which serves them. */
  photoBaseUrl: string
  /** Whether list items carry an update time; the document does not show them [A §4]. */
  readonly listCarriesUpdatedAt: boolean
  /** What neither the documents nor the settings name; left out: nothing. */
  readonly decoys?: Decoys | undefined
}

/** One item of the answer of `/geteval` [A §2]. */
export function renderEvaluation(
  world: World,
  evaluation: Evaluation,
  rendering: Rendering,
  now: Date,
): JsonObject {
  const fields = fieldsAt(evaluation, now)
  const user = world.user(fields.userId)
  const photos = renderPhotos(evaluation, rendering, now)
  const body: JsonObject = {
    EvalID: evaluation.evalId,
    VIN: fields.vin,
    CreatedAt: evaluation.createdAt,
    CompletedAt: isCompleted(evaluation, now) ? evaluation.completedAt : null,
    UpdatedAt: updatedAt(evaluation, now),
    EntryDate: entryDate(evaluation.createdAt),
    FinalPrice: fields.finalPrice,
    UserPrices: renderUserPrices(fields, rendering.wire),
    UserName: userText(fields, user?.name),
    UserEmail: userText(fields, user?.email),
    Reconditioning: reconTotal(fields),
    reconditioning_list: fields.reconditioning,
    CarPics: photos.map((photo) => rawPhoto(evaluation.evalId, photo)),
    Photos: photos,
    customFields: renderCustomFields(fields, rendering.wire),
  }
  const unshown = encoded(rendering, 'evaluation', unshownFields(world, evaluation, fields))
  valuesAt(rendering.wire.evaluation, unshown, body)
  const whole = rendering.decoys?.evaluation(body, fields, evaluation) ?? body
  return { ...whole, ...fields.extra, ...world.poisonOf(evaluation.evalId) }
}

/** The values as this service writes them. */
export function encoded<T extends object>({ decoys }: Rendering, group: string, values: T): T {
  if (decoys === undefined) return values
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    decoys.encode(group, name, value),
  ])
  return Object.fromEntries(entries) as T
}

/** An item of the answer of `/getevallist`; an id path of `""` makes it the bare id. */
export function renderListItem(evaluation: Evaluation, rendering: Rendering, now: Date): unknown {
  const { wire, listCarriesUpdatedAt } = rendering
  if (firstCandidate(wire.evalList.id) === '') return evaluation.evalId
  const updated = listCarriesUpdatedAt ? { updatedAt: updatedAt(evaluation, now) } : {}
  const values = encoded(rendering, 'evalList', { id: evaluation.evalId, ...updated })
  const item = valuesAt(wire.evalList, values)
  return rendering.decoys?.listItem(item, evaluation) ?? item
}

/** A photo in `Photos` [A §2]. */
interface WirePhoto {
  readonly id: number
  readonly url: string
  readonly order: number | null
  readonly hero: boolean
  readonly heroSource: 'manual' | 'default' | null
  readonly angle: string | null
}

/** `Photos` in display order [A §2, §4 /imagelist]. */
export function renderPhotos(evaluation: Evaluation, rendering: Rendering, now: Date): WirePhoto[] {
  const { evalId } = evaluation
  const expiresAt = now.getTime() + photoLinkLifeMs
  return showPhotos(fieldsAt(evaluation, now).photos).map((photo) => ({
    id: photo.id,
    url: signLink(rendering.photoBaseUrl, photoPath(evalId, photo), expiresAt),
    order: photo.order,
    hero: photo.hero,
    heroSource: photo.heroSource,
    angle: photo.angle,
  }))
}

/** `CarPics`: the same photos as raw rows [A §2]. */
export function renderRawPhotos(
  evaluation: Evaluation,
  rendering: Rendering,
  now: Date,
): JsonObject[] {
  return renderPhotos(evaluation, rendering, now).map((one) => rawPhoto(evaluation.evalId, one))
}

function photoPath(evalId: number, { id, extension = 'svg' }: StoredPhoto): string {
  return `/photos/${evalId}/${id}.${extension}`
}

/** A raw row: id as text, `order` as integer, text or null, and columns outside the contract [A §2]. */
function rawPhoto(evalId: number, { id, url, order, ...rest }: WirePhoto): JsonObject {
  return {
    ID: String(id),
    URL: url,
    order: order !== null && id % 2 === 1 ? String(order) : order,
    ...rest,
    EvalID: evalId,
    StorageKey: `${evalId}/${id}`,
  }
}

/** Fields whose names the document does not show, by the names of their wire settings. */
function unshownFields(world: World, { rooftopUid }: Evaluation, fields: EvaluationFields) {
  const { make, model, variant, year, registration, registrationState } = fields
  const { odometer, colour, condition, notes, customer } = fields
  return {
    ...{ make, model, variant, year, registration, registrationState },
    ...{ odometer, colour, condition, notes },
    customerName: customer.name,
    customerPhone: customer.phone,
    customerEmail: customer.email,
    customerPostcode: customer.postcode,
    customerState: customer.state,
    customerAddress: customer.address,
    customerSuburb: customer.suburb,
    dealerId: world.rooftop(rooftopUid)?.dealerId,
  }
}

function renderUserPrices({ userPrices }: EvaluationFields, wire: AppraisalWire): JsonObject[] {
  return userPrices.map(({ amount, currency, note }) => {
    return valuesAt(wire.userPrice, { amount, currency }, { note })
  })
}

function renderCustomFields({ customFields }: EvaluationFields, wire: AppraisalWire): JsonObject {
  const entries = Object.entries(customFields).map(([name, { type, options, value }]) => {
    return [name, valuesAt(wire.customField, { type, value }, { options })]
  })
  return Object.fromEntries(entries)
}

/** No salesperson is null in both fields; an unknown one (undefined) leaves them out. */
function userText(
  { userId }: EvaluationFields,
  text: string | undefined,
): string | null | undefined {
  return userId === undefined ? undefined : (text ?? null)
}

/** `YYYY-MM-dd hh:mm:ss` in UTC, without a zone [A §2]. */
function entryDate(createdAt: Date): string {
  return createdAt.toISOString().slice(0, 19).replace('T', ' ')
}

/** An object (default: a new one) with each value at the path of its name; values without a path and undefined are left out. */
export function valuesAt<N extends string>(
  paths: Readonly<Record<N, JsonPath>>,
  values: { readonly [name in NoInfer<N>]?: unknown },
  body: JsonObject = {},
): JsonObject {
  for (const [name, path] of fieldEntries(values, paths)) setAtPath(body, path, values[name])
  return body
}

function fieldEntries<N extends string>(values: object, paths: Readonly<Record<N, JsonPath>>) {
  const names = Object.keys(values) as N[]
  return names
    .filter((name) => Object.hasOwn(paths, name))
    .map((name) => [name, paths[name]] as const)
}

/** The value in an object at the path; a path of `""` makes it the whole body. */
export function wrapAtPath(path: JsonPath, value: unknown): unknown {
  if (firstCandidate(path) === '') return value
  const body: JsonObject = {}
  setAtPath(body, path, value)
  return body
}

/** Sets a value at the first path where a reader with these settings expects it; undefined is left out. */
export function setAtPath(body: JsonObject, path: JsonPath, value: unknown): void {
  if (value === undefined) return
  const keys = firstCandidate(path).split('.')
  const last = keys.pop()!
  let target = body
  for (const key of keys) {
    const inner = Object.hasOwn(target, key) ? target[key] : null
    if (inner === null || typeof inner !== 'object') target[key] = {}
    target = target[key] as JsonObject
  }
  target[last] = value
}
