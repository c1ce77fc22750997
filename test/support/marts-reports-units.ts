import { watchStatuses } from '#src/api/contract/appraisal/shapes.ts'
import { type VehicleCheck, watchStatusAt } from '#src/sandbox/checks.ts'
import { localDay } from '#src/values/instant.ts'
import { dayMs } from './fixture.ts'
import {
  daysBetween,
  exactPercentileMinutes,
  less,
  localDaysBetween,
  milli,
  moneyText,
  monthOf,
  quotient,
  ratio,
  share,
} from './marts-numbers.ts'
import { boughtIn } from './marts-reports-evaluations.ts'
import {
  count,
  evaluationKey,
  grouped,
  isListed,
  knownBought,
  type MartTruth,
  type ReportRow,
  rooftopOf,
  textOf,
} from './marts-rows.ts'
import type { StockUnit } from './marts-units.ts'

// The reports over units of the stock lists, vehicles and rooftops, from the world and the lists alone.

function unitOf(truth: MartTruth, { rooftop, listed }: StockUnit) {
  const { stockNo, vin, make, model, year } = listed
  const vehicle = { make: textOf(make), model: textOf(model), model_year: year }
  return { ...rooftopOf(truth, rooftop), stock_no: stockNo, vin, ...vehicle }
}

/** Own price cuts of what has stood for 45 days, beside what the market did. */
export function agedStock(truth: MartTruth): ReportRow[] {
  return truth.units.flatMap((unit) => {
    const { rooftop, acquiredOn, market } = unit
    const days = daysBetween(acquiredOn, localDay(truth.now, rooftop.timezone))
    if (!unit.isOnHand || days < 45) return []
    const [first, last] = [market.find(({ retail }) => retail !== null), market.at(-1)]
    const now = last && last.retail !== null ? last : null
    const [askedFirst, asked] = [milli(unit.askingFirst), milli(unit.askingNow)]
    const [retailFirst, retail] = [milli(first?.retail), milli(now?.retail)]
    return {
      ...unitOf(truth, unit),
      ...{
        acquired_on: acquiredOn,
        days_in_stock: unit.listed.acquired === null ? null : days,
        currency_code: rooftop.currency,
      },
      asking_price_first: moneyText(askedFirst),
      asking_price_now: moneyText(asked),
      own_cut: unit.isPriceComparable ? moneyText(less(askedFirst, asked)) : null,
      price_changes: unit.priceChanges,
      market_retail_first: moneyText(retailFirst),
      market_retail_now: moneyText(retail),
      market_move: first === last ? null : moneyText(less(retail, retailFirst)),
      market_as_of: now?.at.toISOString() ?? null,
      asking_to_market_share: ratio(asked, retail),
    }
  })
}

/** Australian units and what is known of the searches on them. */
export function ppsrExposure(truth: MartTruth): ReportRow[] {
  return truth.units
    .filter((unit) => unit.isOnHand && unit.rooftop.region === 'AU')
    .filter(({ listed }) => listed.vin?.length === 17)
    .map((unit) => {
      const { rooftop, acquiredOn, listed } = unit
      const known = knownChecks(truth, rooftop.groupId, listed.vin!)
      const isAsked = lastAsked(truth, rooftop.groupId, listed.vin!) !== undefined
      const newest = known[0]?.check.searchedAt ?? null
      const statuses = known.map(({ status }) => status)
      const counted = known.find(({ check }) => truth.fixture.paid.has(String(check.id)))
      const counts = counted?.check.counts
      const interests = counts?.securityInterests ?? null
      const days = newest && localDaysBetween(newest, truth.now, rooftop.timezone)
      return {
        ...unitOf(truth, unit),
        acquired_on: acquiredOn,
        searches: isAsked ? known.length : null,
        last_searched_at: newest?.toISOString() ?? null,
        days_since_search: days,
        watch_status: watchStatuses.find((status) => statuses.includes(status)) ?? null,
        security_interest_count: interests,
        exposure: isAsked
          ? exposureOf(statuses.includes('changed'), counts, days, counted === known[0])
          : 'not asked',
      }
    })
}

function exposureOf(
  isChanged: boolean,
  counts: VehicleCheck['counts'] | undefined,
  days: number | null,
  isNewestCounted: boolean,
): string {
  if (counts && counts.stolen > 0) return 'stolen'
  if (counts && counts.writeOffs > 0) return 'written off'
  if (isChanged) return 'interest changed'
  if (counts && counts.securityInterests > 0) return 'interest on search'
  if (days === null) return 'never searched'
  if (days > 14) return 'stale search'
  return isNewestCounted ? 'clear' : 'result unknown'
}

/** The last night that could ask about the vehicle: with an evaluation of it in the dealer group. */
function lastAsked({ fixture }: MartTruth, groupId: string, vin: string): Date | undefined {
  const { nights, readings, unfit } = fixture
  return nights.findLast((_, night) =>
    readings[night]!.some(
      (one) => one.groupId === groupId && one.vin?.toUpperCase() === vin && !unfit.has(one.evalId),
    ),
  )
}

/** Searches on the vehicle, newest first, with the status that the last night that could ask about it got. */
function knownChecks(truth: MartTruth, groupId: string, vin: string) {
  const last = lastAsked(truth, groupId, vin)
  if (last === undefined) return []
  return truth.fixture.sandbox.checks
    .past('ppsr', { groupId, vin }, last)
    .map((check: VehicleCheck) => ({ check, status: watchStatusAt(check, last) }))
}

/** The first advertised price against the price of the pricing AI at the appraisal. */
export function aiAccuracy(truth: MartTruth): ReportRow[] {
  return truth.units.flatMap((unit) => {
    const { outcome, acquiredOn } = unit
    const [asked, predicted] = [milli(unit.askingFirst), milli(outcome?.prices?.first.retail)]
    if (outcome === null || asked === null || predicted === null) return []
    if (outcome.rooftop.currency !== unit.rooftop.currency) return []
    const { prices, truth: seen } = outcome
    if (prices!.firstAt.getTime() >= seen.completedAt.getTime() + 7 * dayMs) return []
    const error = asked - predicted
    return {
      ...unitOf(truth, unit),
      evaluation_key: evaluationKey(truth, outcome),
      ...{ acquired_on: acquiredOn, month_start: monthOf(acquiredOn) },
      currency_code: unit.rooftop.currency,
      ai_retail_at_appraisal: moneyText(predicted),
      asking_price_first: moneyText(asked),
      error: moneyText(error),
      error_share: ratio(error, asked),
      absolute_error_share: ratio(error < 0n ? -error : error, asked),
    }
  })
}

/** Vehicles that a dealer group has appraised more than once. */
export function repeatAppraisals(truth: MartTruth): ReportRow[] {
  const isBought = boughtIn(truth)
  const rows = grouped(
    truth.present.filter(({ vin17 }) => vin17 !== null),
    (one) => ({
      group_code: one.groupId,
      vin: one.vin17,
      currency_code: one.rooftop.currency,
    }),
    (members, key) => {
      const days = members.map(({ completedOn }) => completedOn).sort()
      const prices = members
        .flatMap(({ truth: { finalPrice } }) => milli(finalPrice) ?? [])
        .sort((a, b) => Number(a - b))
      const [lowest, highest] = [prices[0] ?? null, prices.at(-1) ?? null]
      return {
        evaluations: members.length,
        rooftops: new Set(members.map(({ rooftop }) => rooftop.uid)).size,
        ...{ first_on: days[0]!, last_on: days.at(-1)! },
        days_between: daysBetween(days[0]!, days.at(-1)!),
        lowest_price: moneyText(lowest),
        highest_price: moneyText(highest),
        price_spread: moneyText(less(highest, lowest)),
        is_bought:
          members.some(isBought) ||
          (isListed(truth, ({ groupId }) => groupId === key.group_code, days[0]!, days.at(-1)!)
            ? false
            : null),
      }
    },
  )
  return rows.filter(({ evaluations }) => evaluations > 1)
}

/** What customers captured through a link, beside what salespeople did. */
export function linkCapture(truth: MartTruth): ReportRow[] {
  const { world } = truth.fixture
  const generated = new Set(
    world.users.filter((user) => user.generated).map(({ email }) => email.toLowerCase()),
  )
  const isBought = boughtIn(truth)
  return grouped(
    truth.present,
    (one) => ({
      ...rooftopOf(truth, one.rooftop),
      month_start: one.month,
      is_link_captured: generated.has(one.truth.userEmail?.toLowerCase() ?? ''),
    }),
    (members) => {
      const photos = members.reduce((sum, one) => sum + one.truth.photos.length, 0)
      const [{ rooftop, month }] = members
      const bought = knownBought(truth, rooftop, month, count(members, isBought))
      return {
        ...{ evaluations: members.length, photos },
        average_photos: quotient(BigInt(photos), BigInt(members.length), 2),
        no_photo_share: share(
          count(members, (one) => one.truth.photos.length === 0),
          members.length,
        ),
        median_minutes: exactPercentileMinutes(
          members.flatMap(({ tookMs }) => tookMs ?? []),
          50,
        ),
        ...{ bought, bought_share: bought === null ? null : share(bought, members.length) },
      }
    },
  )
}

/** When the newest run of evaluations of a rooftop ended, and how far the source's clock was from ours in it. */
export interface Bookkeeping {
  readonly finishedAt: Date
  readonly aheadMs: number
}

/** How far each rooftop can be trusted. When our runs ended comes from their bookkeeping alone; all else from the world. */
export function dataFreshness(
  truth: MartTruth,
  bookkeeping: ReadonlyMap<number, Bookkeeping>,
): ReportRow[] {
  const { fixture, now, present, gone } = truth
  return fixture.world.rooftops.map((rooftop) => {
    const isHere = (evalId: number) => fixture.world.evaluation(evalId)!.rooftopUid === rooftop.uid
    const id = rooftopOf(truth, rooftop).rooftop_id
    const { finishedAt, aheadMs } = bookkeeping.get(id)!
    const unfit = [...fixture.unfit].filter(isHere)
    const rejected = [...fixture.unpriced].filter(([id, why]) => why === 'rejected' && isHere(id))
    const quarantined = unfit.length + rejected.length
    const own = present.filter((one) => one.rooftop.uid === rooftop.uid)
    const coveredTo = fixture.nights[2]
    const behindMs = now.getTime() + aheadMs - coveredTo.getTime()
    return {
      ...rooftopOf(truth, rooftop),
      last_good_run_at: finishedAt.toISOString(),
      covered_to: coveredTo.toISOString(),
      hours_behind: quotient(BigInt(Math.round(behindMs)), 3_600_000n, 2),
      open_gaps: 0,
      quarantined,
      vanished: count(gone, (one) => one.rooftop.uid === rooftop.uid),
      streams_failing: 0,
      newest_completed_at: new Date(
        Math.max(...own.map((one) => one.truth.completedAt.getTime())),
      ).toISOString(),
      may_trust: quarantined === 0,
      reason: quarantined === 0 ? null : `${quarantined} records in quarantine`,
      left_config_at: null,
    }
  })
}
