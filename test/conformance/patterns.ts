import sharp from 'sharp'
import { expect } from 'vitest'
import type { FilePart } from './row.ts'

// What several rows expect, and the files that they send.

/** ISO-8601 UTC with a Z designator [A §2]. */
export const instant: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
export const text: unknown = expect.any(String)
export const number: unknown = expect.any(Number)
/** `{ error: string }` [A §7]. */
export const failure: unknown = { error: expect.stringMatching(/./) }

/** What a price guide result holds, by name [V §2]. */
export const guideFields = [
  'adcode',
  'currency',
  'highRetail',
  'highWholesale',
  'highWholesalePerfect',
  'lowRetail',
  'lowWholesale',
  'lowWholesalePerfect',
]

/** A list of ids as photos in that order. */
export function photos(...ids: number[]): { id: number }[] {
  return ids.map((id) => ({ id }))
}

/** A list of ids as raw rows in that order [A §2 Photo]. */
export function carPics(...ids: number[]): { ID: string }[] {
  return ids.map((id) => ({ ID: String(id) }))
}

/** The value at a dotted path; undefined where there is none. */
export function at(body: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, key) =>
        typeof value === 'object' && value !== null
          ? (value as Record<string, unknown>)[key]
          : undefined,
      body,
    )
}

/** The array at a dotted path, of objects; an empty path is the body. */
export function listAt(body: unknown, path = ''): Record<string, unknown>[] {
  const list = path === '' ? body : at(body, path)
  expect(list, `an array at '${path}'`).toBeInstanceOf(Array)
  return list as Record<string, unknown>[]
}

/** The number at a dotted path. */
export function numberAt(body: unknown, path: string): number {
  const value = at(body, path)
  expect(value, `a number at '${path}'`).toBeTypeOf('number')
  return value as number
}

const picture = { width: 64, height: 48, channels: 3, background: '#7a8b9c' } as const
const jpegBytes = Uint8Array.from(await sharp({ create: picture }).jpeg().toBuffer())
const gifBytes = Uint8Array.from(await sharp({ create: picture }).gif().toBuffer())
const pngBytes = Uint8Array.from(await sharp({ create: picture }).png().toBuffer())

/** Files for `/imageupload`. */
export const files = {
  jpeg: { field: 'file', name: 'front.jpg', bytes: jpegBytes },
  png: { field: 'file', name: 'rear.png', bytes: pngBytes },
  empty: { field: 'file', name: 'empty.jpg', bytes: new Uint8Array() },
  noImage: { field: 'file', name: 'text.jpg', bytes: new TextEncoder().encode('no image at all') },
  truncated: { field: 'file', name: 'cut.jpg', bytes: jpegBytes.slice(0, -30) },
  halfPng: { field: 'file', name: 'half.png', bytes: pngBytes.slice(0, pngBytes.length / 2) },
  gif: { field: 'file', name: 'front.gif', bytes: gifBytes },
  drawing: {
    field: 'file',
    name: 'drawing.svg',
    bytes: new TextEncoder().encode('<svg xmlns="http://www.w3.org/2000/svg"/>'),
  },
} as const satisfies Record<string, FilePart>

/** An image file whose name carries the VIN, for the decoder. */
export function vinImage(vin: string, kind: 'jpeg' | 'png' = 'jpeg'): FilePart {
  return kind === 'jpeg'
    ? { field: 'image', name: `vin ${vin}.jpg`, bytes: jpegBytes }
    : { field: 'image', name: `${vin.toLowerCase()}.png`, bytes: pngBytes }
}
