import type { AppraisalClient } from '../../api/sources/appraisal/client.ts'
import type { RooftopAccess } from '../../api/sources/calls.ts'
import type { RooftopConfig } from '../../app/config/read.ts'
import { errorText, SyncError } from '../../errors.ts'
import { evaluationRecords } from '../../streams/evaluations/evaluation-records.ts'
import { isCurrencyCode } from '../../values/currency-codes.ts'
import { valueAt } from '../../values/json-path.ts'
import { countryOfZone, findCurrencies } from '../../values/regions.ts'
import { plural } from '../../values/text.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { daySeconds } from '../../values/window.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { type Check, fail, ok, warn } from './check-result.ts'

/** The evaluation to compare with was created in this number of days. */
const recentDays = 30

/** The source that the rooftops are checked at. */
interface CheckedSource {
  readonly appraisal: AppraisalClient
  readonly wire: AppraisalWire
  readonly signal: AbortSignal
}

/**
 * Checks the key of a rooftop, and whether its time zone, currency and dealerId can be true: by the region of the key, and by one
 * recent evaluation. The first line says what was found; a line follows for each contradiction. At most four calls, all free.
 */
export async function checkRooftop(
  source: CheckedSource,
  rooftop: RooftopConfig,
): Promise<Check[]> {
  const access = { uid: rooftop.uid, dealerId: rooftop.dealerId, keyName: rooftop.key }
  try {
    // The user list is the cheapest read that a key answers for: it bills nothing [A §4 /getuserlist].
    const { users } = await source.appraisal.listUsers(
      access,
      { includeInactive: false },
      { signal: source.signal },
    )
    const recent = await findRecent(source, access)
    const found = [
      `${rooftop.name}: key ${rooftop.key} is good, ${plural(users.length, 'user')} in its group`,
      localTime(source.appraisal.clock.now(), rooftop.timezone),
      describeRecent(recent),
    ].join('; ')
    return [
      ok(checkName(rooftop), found),
      ...regionProblems(rooftop, recent),
      ...evaluationProblems(rooftop, recent),
    ]
  } catch (error) {
    // The line has the uid already.
    const problem = errorText(error).replace(` of rooftop ${rooftop.uid} `, ' ')
    return [
      fail(checkName(rooftop), `${rooftop.name}: ${problem}`),
      ...regionProblems(rooftop, null),
    ]
  }
}

/** The name of a rooftop's lines. */
export function checkName({ uid }: RooftopConfig): string {
  return `rooftop ${uid}`
}

/** What one recent evaluation of the rooftop says. */
interface Recent {
  readonly evalId: number
  readonly dealerId: number | null
  readonly currency: string | null
  /** How many the group has, where the list has none with the dealerId; else null. */
  readonly inGroupAlone: number | null
}

async function findRecent(source: CheckedSource, access: RooftopAccess): Promise<Recent | null> {
  const { appraisal, signal } = source
  const from = toUnixSeconds(appraisal.clock.now()) - recentDays * daySeconds
  const list = async (dealerId: number | null) => {
    const range = { from, until: null }
    return (await appraisal.listEvaluations({ ...access, dealerId }, range, { signal })).items
  }
  const listed = await list(access.dealerId)
  const isInGroupAlone = listed.length === 0 && access.dealerId !== null
  const items = isInGroupAlone ? await list(null) : listed
  if (items.length === 0) return null
  const evalId = items.reduce((newest, item) => Math.max(newest, item.evalId), 0)
  const inGroupAlone = isInGroupAlone ? items.length : null
  try {
    const read = await appraisal.getEvaluation(access, evalId, { signal })
    if (read.kind === 'vanished') return null
    const body: unknown = JSON.parse(read.text)
    const dealerId = evaluationRecords.readDealer(body, evalId, source.wire)
    return { evalId, dealerId, currency: findCurrency(body, evalId, source.wire), inGroupAlone }
  } catch (error) {
    // One record that cannot be read says nothing about the rooftop.
    const isOfRecord = error instanceof SyncError && error.errorAction === 'skip'
    if (isOfRecord || error instanceof SyntaxError) return null
    throw error
  }
}

/** The currency that the first user price with one names. */
function findCurrency(body: unknown, evalId: number, { userPrice }: AppraisalWire): string | null {
  const prices = valueAt(evaluationRecords.findRecord(body, evalId), 'UserPrices')
  const found = Array.isArray(prices)
    ? prices.map((price: unknown) => valueAt(price, userPrice.currency))
    : []
  const isCode = (code: unknown): code is string => typeof code === 'string' && isCurrencyCode(code)
  return found.find(isCode) ?? null
}

function describeRecent(recent: Recent | null): string {
  if (recent === null) return `no evaluation of the last ${recentDays} days to compare with`
  const { evalId, dealerId, currency } = recent
  const carried = [
    ...(dealerId === null ? [] : [`DealerID ${dealerId}`]),
    ...(currency === null ? [] : [`prices in ${currency}`]),
  ]
  return `evaluation ${evalId}: ${carried.join(', ') || 'neither DealerID nor currency'}`
}

/** Contradictions between the region of the key, the time zone and the currency [A §5]. */
function regionProblems(rooftop: RooftopConfig, recent: Recent | null): Check[] {
  const { region, timezone, currency } = rooftop
  const country = countryOfZone(region, timezone)
  const used = findCurrencies(region, country)
  const where = country === null ? `the region ${region}` : timezone
  return [
    ...(country === null
      ? [
          `timezone is ${timezone}, but the key ${rooftop.key} is for ${region}: business days would be those of another country`,
        ]
      : []),
    ...(used.has(currency)
      ? []
      : [
          `currency is ${currency}, but ${where} has ${[...used].join(', ')}: ${
            recent?.currency === currency
              ? `evaluation ${recent.evalId} has prices in ${currency} too, so correct timezone`
              : 'correct currency or timezone; currency cannot change once the rooftop has rows'
          }`,
        ]),
  ].map((problem) => warn(checkName(rooftop), problem))
}

function evaluationProblems(rooftop: RooftopConfig, recent: Recent | null): Check[] {
  if (recent === null) return []
  const { evalId, inGroupAlone } = recent
  const { dealerId, currency } = rooftop
  const checks: Check[] = []
  if (inGroupAlone !== null) {
    const carried = recent.dealerId === null ? '' : ` with DealerID ${recent.dealerId}`
    checks.push(
      warn(
        checkName(rooftop),
        `dealerId is ${dealerId}, and the list has no evaluation with it in the last ${recentDays} days, while its group has ${inGroupAlone}, such as ${evalId}${carried}: nothing would be loaded. Correct dealerId, unless the rooftop has been quiet`,
      ),
    )
  } else if (dealerId !== null && recent.dealerId !== null && recent.dealerId !== dealerId)
    checks.push(
      fail(
        checkName(rooftop),
        `dealerId is ${dealerId}, but evaluation ${evalId}, which the list gives for it, carries DealerID ${recent.dealerId}: correct dealerId, or wire.appraisal.evaluation.dealerId`,
      ),
    )
  if (recent.currency !== null && recent.currency !== currency)
    checks.push(
      warn(
        checkName(rooftop),
        `currency is ${currency}, but evaluation ${evalId} has prices in ${recent.currency}: correct one before the first sync`,
      ),
    )
  return checks
}

/** `Wed, 25 Nov 2026, 03:11 in Australia/Sydney`. */
function localTime(at: Date, timeZone: string): string {
  const text = new Intl.DateTimeFormat('en-GB', {
    ...{ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', timeZone },
  }).format(at)
  return `${text} in ${timeZone}`
}
