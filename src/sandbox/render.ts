import { firstCandidate, type JsonPath } from '../values/json-path.ts'
import type { AppraisalWire } from '../values/wire.ts'
import { fieldsAt, isCompleted, reconTotal, showPhotos, updatedAt } from './lifecycle.ts'
import { photoLinkLifeMs, signLink } from './signed-link.ts'
import type { World } from './world.ts'
import type { Evaluation, EvaluationFields, StoredPhoto } from './world-types.ts'

/** A JSON object of an answer. */
export type JsonObject = Record<string, unknown>

/** How the world is rendered as JSON. */
export interface Rendering {
  readonly wire: AppraisalWire
  /** Start of signed photo links; empty until the sandbox listens. */
  photoBaseUrl: string
  /** Whether list items carry an update time; the document does not show them [A §4]. */
  readonly listCarriesUpdatedAt: boolean
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
  placeUnshownFields(body, fields, rendering.wire)
  const dealerId = world.rooftop(evaluation.rooftopUid)?.dealerId
  setAtPath(body, rendering.wire.evaluation.dealerId, dealerId)
  return { ...body, ...fields.extra, ...world.poisonOf(evaluation.evalId) }
}

/** An item of the answer of `/getevallist`; an id path of `""` makes it the bare id. */
export function renderListItem(evaluation: Evaluation, rendering: Rendering, now: Date): unknown {
  const { id, updatedAt: updated } = rendering.wire.evalList
  if (firstCandidate(id) === '') return evaluation.evalId
  const item: JsonObject = {}
  setAtPath(item, id, evaluation.evalId)
  if (rendering.listCarriesUpdatedAt) setAtPath(item, updated, updatedAt(evaluation, now))
  return item
}

/** The answer of `/getevallist`: the array, or the envelope that `wire.evalList.items` names. */
export function renderList(items: readonly unknown[], rendering: Rendering): unknown {
  const path = firstCandidate(rendering.wire.evalList.items)
  if (path === '') return items
  const envelope: JsonObject = {}
  setAtPath(envelope, path, items)
  return envelope
}

/** A photo in `Photos` [A §2]. */
export interface WirePhoto {
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

function placeUnshownFields(body: JsonObject, fields: EvaluationFields, wire: AppraisalWire): void {
  const names = wire.evaluation
  const { customer } = fields
  setAtPath(body, names.make, fields.make)
  setAtPath(body, names.model, fields.model)
  setAtPath(body, names.variant, fields.variant)
  setAtPath(body, names.year, fields.year)
  setAtPath(body, names.registration, fields.registration)
  setAtPath(body, names.registrationState, fields.registrationState)
  setAtPath(body, names.odometer, fields.odometer)
  setAtPath(body, names.colour, fields.colour)
  setAtPath(body, names.condition, fields.condition)
  setAtPath(body, names.notes, fields.notes)
  setAtPath(body, names.customerName, customer.name)
  setAtPath(body, names.customerPhone, customer.phone)
  setAtPath(body, names.customerEmail, customer.email)
  setAtPath(body, names.customerPostcode, customer.postcode)
  setAtPath(body, names.customerState, customer.state)
  setAtPath(body, names.customerAddress, customer.address)
  setAtPath(body, names.customerSuburb, customer.suburb)
}

function renderUserPrices({ userPrices }: EvaluationFields, wire: AppraisalWire): JsonObject[] {
  return userPrices.map(({ amount, currency, note }) => {
    const item: JsonObject = { note }
    setAtPath(item, wire.userPrice.amount, amount)
    setAtPath(item, wire.userPrice.currency, currency)
    return item
  })
}

function renderCustomFields({ customFields }: EvaluationFields, wire: AppraisalWire): JsonObject {
  const entries = Object.entries(customFields).map(([name, { type, options, value }]) => {
    const item: JsonObject = { options }
    setAtPath(item, wire.customField.type, type)
    setAtPath(item, wire.customField.value, value)
    return [name, item]
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

/** Sets a value at the first path where a reader with these settings expects it; undefined is left out. */
export function setAtPath(body: JsonObject, path: JsonPath, value: unknown): void {
  if (value === undefined) return
  const keys = firstCandidate(path).split('.')
  const last = keys.pop()!
  let target = body
  for (const key of keys) {
    if (!Object.hasOwn(target, key)) target[key] = {}
    target = target[key] as JsonObject
  }
  target[last] = value
}
