import { evalid } from '../fields.ts'
import { asReceived, type OperationDraft, operation, readAs } from '../operation.ts'
import { placedAt } from '../reading.ts'
import { pastChecks, watchAnswer } from './shapes.ts'

// AU vehicle checks: two that cost money, three that read [A §4 "AU vehicle checks"]. Body `{ evalid }`, no VIN.

type CheckDraft = Pick<
  OperationDraft<'read', { evalid: typeof evalid }, unknown>,
  'fields' | 'region' | 'example' | 'source' | 'about'
>
const onEvaluation: CheckDraft = {
  source: '[A §4 "AU vehicle checks"]',
  fields: { evalid },
  region: 'AU',
  about: { 403: 'keyOrRecord' },
  example: { evalid: 1001 },
}
const readErrors = {
  400: 'evalid missing or eval has no VIN',
  403: 'not AU or invalid key',
  404: 'evaluation not found',
}

const checkFields = { any: ['id'], instant: ['createdAt'], link: ['pdfUrl'] } as const
const readPast = readAs(
  pastChecks,
  placedAt(checkFields, ({ appraisal }) => appraisal.pastCheck),
)
const watched = placedAt(
  { any: ['checkId'], text: ['checkStatus'], instant: ['checkedAt'] },
  ({ appraisal }) => appraisal.watch,
)

/** Synchronous: allow 60 s or more [A §8]. */
export const searchPpsr = operation({
  ...onEvaluation,
  name: 'ppsrsearch',
  effect: 'bill',
  budget: 'ppsrSearch',
  timeoutSeconds: 120,
  summary: "Runs a PPSR search on the evaluation's VIN and attaches the certificate",
  statuses: {
    400: 'evalid missing, eval has no VIN, search failed, or daily per-vehicle limit',
    403: 'not an AU account or invalid key',
    404: 'evaluation not found',
    429: 'daily throttle',
  },
  read: asReceived(
    placedAt(
      {
        ...checkFields,
        any: ['id', 'certificateNumber'],
        count: ['securityInterests', 'writeOffs', 'stolen'],
      },
      ({ appraisal }) => appraisal.ppsrCertificate,
    ),
  ),
})

/** One run per evaluation at a time [A §8]. */
export const runCarHistory = operation({
  ...onEvaluation,
  name: 'carhistory',
  effect: 'bill',
  budget: 'carHistory',
  timeoutSeconds: 120,
  summary: 'Runs a Car History report and attaches it',
  statuses: {
    400: 'evalid missing or eval has no VIN',
    403: 'not enabled for the dealership, not AU, or invalid key',
    404: 'evaluation not found',
    429: 'daily throttle, or a report for this eval is running (Request in progress, please wait)',
    500: 'failed to get vehicle history',
  },
  read: asReceived(placedAt(checkFields, ({ appraisal }) => appraisal.carHistory)),
})

export const listPastPpsr = operation({
  ...onEvaluation,
  name: 'getpastppsrsearch',
  effect: 'read',
  summary: 'Past PPSR certificates of the VIN in the dealer group, newest first',
  statuses: readErrors,
  read: readPast,
})

export const listPastCarHistory = operation({
  ...onEvaluation,
  name: 'getpastcarhistory',
  effect: 'read',
  summary: 'Past Car History reports of the VIN in the dealer group, newest first',
  statuses: readErrors,
  read: readPast,
})

/** Free to poll; a search is monitored for 14 days [A §4, §8]. */
export const watchPpsr = operation({
  ...onEvaluation,
  name: 'ppsrwatch',
  effect: 'read',
  summary: 'Whether security-interest details changed since a search',
  statuses: readErrors,
  read: readAs(watchAnswer, (wire) => [[wire.appraisal.watch.checks, watched(wire)]]),
})

export const checkOperations = [
  searchPpsr,
  runCarHistory,
  listPastPpsr,
  listPastCarHistory,
  watchPpsr,
] as const
