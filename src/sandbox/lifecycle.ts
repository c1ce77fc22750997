import type { Edit, Evaluation, EvaluationFields, ReconLine, StoredPhoto } from './world-types.ts'

// The state of an evaluation at an instant [A §3]: everything here is a function of the evaluation and the time.

/** Whether the evaluation exists at all. */
export function isCreated(evaluation: Evaluation, now: Date): boolean {
  return evaluation.createdAt.getTime() <= now.getTime()
}

/** Complete, whether or not it has vanished since [A §3]. */
export function isCompleted(evaluation: Evaluation, now: Date): boolean {
  const { completedAt } = evaluation
  return completedAt !== null && completedAt.getTime() <= now.getTime()
}

export function isVanished(evaluation: Evaluation, now: Date): boolean {
  return evaluation.vanishedAt !== null && evaluation.vanishedAt.getTime() <= now.getTime()
}

/** Whether `/geteval` returns it: completed and not vanished [A §4]. */
export function isReadable(evaluation: Evaluation, now: Date): boolean {
  return isCompleted(evaluation, now) && !isVanished(evaluation, now)
}

/** Whether `/getevallist` lists it [A §4]. */
export function isListed(evaluation: Evaluation, now: Date): boolean {
  return (
    isCompleted(evaluation, now) && (evaluation.vanishedStaysListed || !isVanished(evaluation, now))
  )
}

/** The fields with every edit up to now applied. */
export function fieldsAt(evaluation: Evaluation, now: Date): EvaluationFields {
  const applied = appliedEdits(evaluation, now)
  if (applied.length === 0) return evaluation
  let fields: EvaluationFields = evaluation
  for (const { patch } of applied) {
    fields = { ...fields, ...patch, customer: { ...fields.customer, ...patch.customer } }
  }
  return fields
}

/** The latest of creation, completion and edits until now. */
export function updatedAt(evaluation: Evaluation, now: Date): Date {
  let latest = evaluation.createdAt
  if (isCompleted(evaluation, now) && evaluation.completedAt! > latest)
    latest = evaluation.completedAt!
  for (const { at } of appliedEdits(evaluation, now)) if (at > latest) latest = at
  return latest
}

function appliedEdits(evaluation: Evaluation, now: Date): readonly Edit[] {
  if (evaluation.edits.length === 0) return evaluation.edits
  return evaluation.edits.filter(({ at }) => at.getTime() <= now.getTime())
}

/** EntryDate in whole Unix seconds: it has no fractions [A §2]. */
export function entrySecond(evaluation: Evaluation): number {
  return Math.floor(evaluation.createdAt.getTime() / 1000)
}

/** The sum of the lines, with the three decimals of a dinar. */
export function reconLineTotal(lines: readonly ReconLine[] | null | undefined): number {
  const total = (lines ?? []).reduce((sum, line) => sum + (line.cost ?? 0), 0)
  return Math.round(total * 1000) / 1000
}

/** The total in the answer; null is sent, undefined is left out. */
export function reconTotal(fields: EvaluationFields): number | null | undefined {
  return fields.reconTotal === 'sum' ? reconLineTotal(fields.reconditioning) : fields.reconTotal
}

/** A photo with its display position. */
export interface ShownPhoto extends StoredPhoto {
  /** 1-based display position. */
  readonly position: number
  readonly hero: boolean
  readonly heroSource: 'manual' | 'default' | null
}

/** Photos in display order, the hero marked. Unnumbered ones follow the numbered by timestamp, else upload time;
 *  ties break on upload time, then id [A §3, §4 /imageupload]. */
export function showPhotos(photos: readonly StoredPhoto[]): ShownPhoto[] {
  const ordered = photos.toSorted(
    (a, b) =>
      (a.order ?? Number.POSITIVE_INFINITY) - (b.order ?? Number.POSITIVE_INFINITY) ||
      photoInstant(a) - photoInstant(b) ||
      a.uploadedAt.getTime() - b.uploadedAt.getTime() ||
      a.id - b.id,
  )
  const pinned = ordered.find((photo) => photo.pinned)
  const hero = pinned ?? ordered[0]
  return ordered.map((photo, index) => ({
    ...photo,
    position: index + 1,
    hero: photo === hero,
    heroSource: photo !== hero ? null : pinned ? 'manual' : 'default',
  }))
}

function photoInstant(photo: StoredPhoto): number {
  if (photo.order !== null) return 0
  return (photo.takenAt ?? photo.uploadedAt).getTime()
}
