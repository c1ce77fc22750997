import type { FastifyInstance } from 'fastify'
import type { z } from 'zod'
import {
  listImages,
  orderImages,
  pinHero,
  uploadImage,
} from '../../api/contract/appraisal/photos.ts'
import { type Call, type Endpoint, serve } from '../call.ts'
import { recogniseImage, type StoredImage } from '../images.ts'
import { fieldsAt, showPhotos } from '../lifecycle.ts'
import { Refusal } from '../refusal.ts'
import { renderPhotos, renderRawPhotos } from '../render.ts'
import type { SandboxState } from '../sandbox-state.ts'
import { serveSigned } from '../signed-link.ts'
import type { Evaluation, StoredPhoto } from '../world-types.ts'
import { groupEvaluation } from './requests.ts'

type OnEvaluation = Call<{ readonly evalid: number }>
type UploadFields = z.infer<typeof uploadImage.fields>

/** The operations on the photos of an evaluation. */
export const photoEndpoints: readonly Endpoint[] = [
  /** Adds photos at any stage; an evaluation that this key may not write to is a 400 here [A §7 /imageupload]. */
  serve(uploadImage, async (call) => {
    if (groupEvaluation(call, call.fields.evalid) === undefined)
      throw new Refusal(400, 'The evaluation does not exist, or this key may not write to it')
    const { service, fields, world, rendering } = call
    const photo = sentPhoto(fields)
    const images = sentImages(call)
    const ids = service.images.store(images, service.limits.current.imageBytes)
    if (ids === null) throw new Refusal(500, 'The image could not be stored')
    // Decoding takes time, and another upload may have happened meanwhile.
    const now = service.clock.now()
    const before = fieldsAt(world.evaluation(fields.evalid)!, now).photos
    const added = ids.map((id, index) => {
      const { extension } = images[index]!
      return { ...photo, id, uploadedAt: now, extension }
    })
    const others = photo.pinned ? withPin(before, null) : before
    const evaluation = changePhotos(call, [...others, ...added], now)
    return { CarPics: renderRawPhotos(evaluation, rendering, now) }
  }),
  /** Photos at any stage; 403 also for an unknown evaluation and for a missing or bad `evalid` [A §7]. */
  serve(
    listImages,
    (call) => ({ Photos: renderPhotos(permitted(call), call.rendering, call.now) }),
    { evalid: 403 },
  ),
  /** Renumbers every photo, the listed ones first. A pin stays on its photo; without a pin the hero is the first photo in display
   *  order (`default`) [A §2, §3]. */
  serve(
    orderImages,
    (call) => {
      const { now, fields } = call
      const ids = typeof fields.ids === 'string' ? fields.ids.split(',').map(Number) : fields.ids
      const { photos } = fieldsAt(permitted(call), now)
      const reordered = inOrder(photos, ids)
      const evaluation = changePhotos(call, reordered, now)
      if (fields.hero === undefined) return photosAnswer(call, evaluation)
      if (!hasPhoto(photos, fields.hero))
        throw new Refusal(404, `hero ${fields.hero} is not an image on this evaluation`)
      return photosAnswer(call, changePhotos(call, withPin(reordered, fields.hero), now))
    },
    { evalid: 403 },
  ),
  /** Moves the pin; null returns to the default hero [A §3]. */
  serve(
    pinHero,
    (call) => {
      const { now, fields } = call
      const { photos } = fieldsAt(permitted(call), now)
      if (fields.imgid !== null && !hasPhoto(photos, fields.imgid))
        throw new Refusal(404, `imgid ${fields.imgid} is not an image on this evaluation`)
      return photosAnswer(call, changePhotos(call, withPin(photos, fields.imgid), now))
    },
    { evalid: 403 },
  ),
]

function permitted(call: OnEvaluation): Evaluation {
  const evaluation = groupEvaluation(call, call.fields.evalid)
  if (evaluation === undefined)
    throw new Refusal(403, 'This key may not access the evaluation, or it does not exist')
  return evaluation
}

function changePhotos(
  { world, fields }: OnEvaluation,
  photos: readonly StoredPhoto[],
  at: Date,
): Evaluation {
  world.edit(fields.evalid, at, { photos })
  return world.evaluation(fields.evalid)!
}

function photosAnswer({ rendering, now }: OnEvaluation, evaluation: Evaluation) {
  return { success: true, Photos: renderPhotos(evaluation, rendering, now) }
}

function hasPhoto(photos: readonly StoredPhoto[], id: number): boolean {
  return photos.some((photo) => photo.id === id)
}

function withPin(photos: readonly StoredPhoto[], id: number | null): StoredPhoto[] {
  return photos.map((photo) => ({ ...photo, pinned: photo.id === id }))
}

/** Unknown and repeated ids are ignored. */
function inOrder(photos: readonly StoredPhoto[], ids: readonly number[]): StoredPhoto[] {
  const shown = new Map(showPhotos(photos).map(({ id }, index) => [id, index]))
  const wanted = [...new Set([...ids, ...shown.keys()])].filter((id) => shown.has(id))
  const orders = new Map(wanted.map((id, index) => [id, index + 1]))
  return photos.map((photo) => ({ ...photo, order: orders.get(photo.id)! }))
}

/** Every file. When one is not an image, all fail and nothing is stored. */
function sentImages({ files, fields, service }: Call<UploadFields>): StoredImage[] {
  const sent = files.filter(({ field }) => field === uploadImage.file?.name(service.wire))
  if (sent.length === 0) throw new Refusal(400, 'file is required')
  const isPlaced = [fields.order, fields.hero, fields.firstPic].some((one) => one !== undefined)
  if (sent.length > 1 && isPlaced)
    throw new Refusal(
      400,
      'Several files are accepted only without order and hero: send one per call',
    )
  const images: StoredImage[] = []
  for (const { bytes, fileName } of sent) {
    const image = recogniseImage(bytes)
    if (image === null)
      throw new Refusal(400, `The image is unreadable, cut off or empty: ${fileName || 'file'}`)
    images.push(image)
  }
  return images
}

/** The values of a new photo from the fields; a field has priority over its alias. */
function sentPhoto({ order, timestamp, timeStamp, hero, firstPic }: UploadFields) {
  const epoch = timestamp ?? timeStamp
  const takenAt = epoch === undefined ? null : epochInstant(epoch)
  if (Number.isNaN(takenAt?.getTime()))
    throw new Refusal(400, 'timestamp: beyond the time that a date can hold')
  return { order: order ?? null, takenAt, pinned: (hero ?? firstPic) === 1, angle: null }
}

/** Unix seconds; a value beyond the year 5138 is taken as milliseconds. */
function epochInstant(epoch: number): Date {
  return new Date(Math.abs(epoch) < 100_000_000_000 ? epoch * 1000 : epoch)
}

/** Serves the signed links: the uploaded bytes, else a drawing with the photo id; 403 for an expired link. */
export function servePhotoFiles(app: FastifyInstance, { clock, images }: SandboxState): void {
  serveSigned<{ file: string }>(app, clock, '/photos/:evalId/:file', ({ file }, reply) => {
    const photoId = Number.parseInt(file, 10)
    const image = images.find(photoId)
    return image === undefined
      ? reply.type('image/svg+xml').send(drawing(photoId))
      : reply.type(image.type).send(image.bytes)
  })
}

function drawing(photoId: number): string {
  return (
    '<svg xmlns="http://www.w3.org/2000/svg" width="480" height="320">' +
    `<rect width="480" height="320" fill="hsl(${photoId % 360} 35% 60%)"/>` +
    '<path d="M70 210h340v-40l-60-10-50-50H180l-50 50-60 10z" fill="#fff"/>' +
    '<circle cx="145" cy="215" r="30"/><circle cx="335" cy="215" r="30"/>' +
    `<text x="240" y="300" text-anchor="middle" font-size="20">photo ${photoId}</text></svg>`
  )
}
