import { scramble } from './seeded-random.ts'

/** How long a signed photo link lives; the document gives no length for photos, so a day. */
export const photoLinkLifeMs = 86_400_000

/** A signed link to a photo [A §2]: the path is stable, expiry and signature change with time. */
export function signPhotoLink(
  baseUrl: string,
  photo: { readonly evalId: number; readonly id: number },
  now: Date,
): string {
  const path = `/photos/${photo.evalId}/${photo.id}.svg`
  const expires = now.getTime() + photoLinkLifeMs
  return `${baseUrl}${path}?expires=${expires}&signature=${signature(path, expires)}`
}

/** Whether the link was signed here and still lives; `path` without the query. */
export function isLivePhotoLink(
  link: { readonly path: string; readonly expires: unknown; readonly signature: unknown },
  now: Date,
): boolean {
  const expires = Number(link.expires)
  return link.signature === signature(link.path, expires) && expires > now.getTime()
}

// A checksum, not a secret: nothing behind it is worth keeping.
function signature(path: string, expires: number): string {
  const text = `${path} ${expires}`
  return [scramble(text, 1), scramble(text, 2)]
    .map((part) => part.toString(16).padStart(8, '0'))
    .join('')
}
