import type { Context } from '../../context.ts'

/** What a permalink can lead to: the id is a check's `check_ref`, or a photo's `photo_id`. */
export const linkKinds = ['ppsr_pdf', 'car_history_pdf', 'photo'] as const
export type LinkKind = (typeof linkKinds)[number]

/** A click on a permalink. `rooftopUid` chooses between two rooftops with the same id; null: it names none. */
export interface LinkRequest {
  readonly kind: LinkKind
  readonly id: string
  readonly rooftopUid: string | null
}

/** A file of the archive. */
export interface ArchivedFile {
  readonly path: string
  readonly byteCount: number
}

/** gone: no evaluation of the vehicle is left at the source; unlisted: the source does not list it any more; bare: it is
 *  listed without a link; erased: its customer was erased here. */
export type VanishedReason = 'gone' | 'unlisted' | 'bare' | 'erased'

/** The outcome of a click. `url` is a bearer secret. */
export type LinkOutcome =
  | { readonly is: 'live'; readonly url: string; readonly expiresAt: Date | null }
  | {
      readonly is: 'vanished'
      readonly reason: VanishedReason
      readonly archived: ArchivedFile | null
    }
  | { readonly is: 'unknown' }
  | { readonly is: 'ambiguous'; readonly rooftops: readonly { uid: string; name: string }[] }
  | Unavailable

/** The source did not answer, or not with what was asked for; `reason` is for the log. */
export interface Unavailable {
  readonly is: 'unavailable'
  readonly retryAfterSeconds: number
  readonly reason: string
}

/** What links are opened with. */
export type LinkContext = Pick<
  Context,
  'config' | 'log' | 'pool' | 'db' | 'appraisal' | 'services' | 'signal'
>
