import { hash32 } from '../values/hash32.ts'

/** How long a signed photo link lives; the document gives no length for photos, so a day. */
export const photoLinkLifeMs = 86_400_000

/** How long a signed link to the PDF of a check lives [A §8]. */
export const pdfLinkLifeMs = 7 * 86_400_000

/** A signed link [A §2]: the path is stable, expiry and signature change with the instant of expiry. */
export function signLink(baseUrl: string, path: string, expiresAt: number): string {
  return `${baseUrl}${path}?expires=${expiresAt}&signature=${signature(path, expiresAt)}`
}

/** Whether the link was signed here and has not expired; `path` without the query. */
export function isLiveLink(
  link: { readonly path: string; readonly expires: unknown; readonly signature: unknown },
  now: Date,
): boolean {
  const expires = Number(link.expires)
  return link.signature === signature(link.path, expires) && expires > now.getTime()
}

// A checksum, not a secret: the data of the sandbox is invented.
function signature(path: string, expires: number): string {
  const text = `${path} ${expires}`
  return [hash32(text, 1), hash32(text, 2)]
    .map((part) => part.toString(16).padStart(8, '0'))
    .join('')
}
