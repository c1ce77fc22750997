import { z } from 'zod'
import { evalid } from '../fields.ts'
import { operation, readAs } from '../operation.ts'
import { carPic, photo } from './shapes.ts'

// Photos: upload, list, order, hero [A §3, §4].

const noAccess = 'no access, evaluation missing, or evalid missing or not positive'
const photosAnswer = z.looseObject({ Photos: z.array(photo) })
const changedPhotos = photosAnswer.extend({ success: z.boolean() })
const pin = z.int().min(0).max(1)

/** Adds photos; one file a call where `order` or `hero` is set [A §4 /imageupload]. */
export const uploadImage = operation({
  name: 'imageupload',
  effect: 'write',
  transport: { encoding: 'form' },
  timeoutSeconds: 120,
  summary: 'Adds a photo to an evaluation',
  source: '[A §4 /imageupload]',
  fields: {
    evalid,
    timestamp: z.int().optional().describe('Unix epoch of the photo'),
    timeStamp: z.int().optional().describe('alias of timestamp'),
    order: z.int().min(1).optional().describe('display order, 1-based'),
    hero: pin.optional().describe('1 pins this photo as the hero'),
    firstPic: pin.optional().describe('alias of hero'),
  },
  problem: ({ order, hero, firstPic }, fileCount) =>
    fileCount > 1 && [order, hero, firstPic].some((one) => one !== undefined)
      ? 'takes several files only without --order, --hero and --firstPic'
      : null,
  file: {
    name: () => 'file',
    required: true,
    several: true,
    description: 'the image; several only without order and hero',
  },
  status: 201,
  statuses: {
    400: 'no evalid, evaluation not writable by the key, unreadable or zero-byte image, or order/hero with several files',
    403: 'key not authorised for endpoint or rooftop',
    500: 'image could not be stored',
  },
  shownErrors: [400, 403, 500],
  example: { evalid: 1001, order: 1 },
  read: readAs(z.looseObject({ CarPics: z.array(carPic) })),
})

/** [A §4 /imagelist] */
export const listImages = operation({
  name: 'imagelist',
  effect: 'read',
  summary: 'Photos of an evaluation at any stage, in display order',
  source: '[A §4 /imagelist]',
  fields: { evalid },
  statuses: { 403: noAccess },
  about: { 403: 'record' },
  example: { evalid: 1001 },
  read: readAs(photosAnswer),
})

/** [A §4 /imageorder] */
export const orderImages = operation({
  name: 'imageorder',
  effect: 'write',
  summary: 'Reorders the photos, and pins a hero on request',
  source: '[A §4 /imageorder]',
  fields: {
    evalid,
    ids: z
      .union([z.array(z.int()).min(1), z.string().regex(/^\s*\d+\s*(,\s*\d+\s*)*$/)])
      .describe('image ids in the desired order: a list, or a comma-separated string'),
    hero: z.int().optional().describe('image id to pin after the reorder'),
  },
  statuses: {
    400: 'ids missing, empty or non-numeric',
    403: noAccess,
    404: 'hero is not an image on this evaluation; the reorder is already applied',
  },
  about: { 403: 'record' },
  shownErrors: [404],
  example: { evalid: 1001, ids: [3, 1, 2] },
  read: readAs(changedPhotos),
})

/** [A §4 /imagehero] */
export const pinHero = operation({
  name: 'imagehero',
  effect: 'write',
  summary: 'Pins the hero photo; null returns to the default',
  source: '[A §4 /imagehero]',
  fields: { evalid, imgid: z.int().nullable().describe('image id to pin; null clears the pin') },
  statuses: {
    400: 'imgid missing or of a wrong type',
    403: noAccess,
    404: 'imgid is not an image on this evaluation, nothing changed',
  },
  about: { 403: 'record' },
  shownErrors: [404],
  example: { evalid: 1001, imgid: 3 },
  read: readAs(changedPhotos),
})

export const photoOperations = [uploadImage, listImages, orderImages, pinHero] as const
