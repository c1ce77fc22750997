import { localDay } from '#src/values/instant.ts'
import {
  exactPercentileMinutes,
  less,
  localDaysBetween,
  milli,
  moneyText,
  monthOf,
  quotient,
  ratio,
  share,
  total,
} from './marts-numbers.ts'
import { costOf } from './marts-reports-recon.ts'
import {
  count,
  evaluationKey,
  evaluationOf,
  grouped,
  knownBought,
  type MartTruth,
  type ReportRow,
  rooftopOf,
  salespersonOf,
} from './marts-rows.ts'
import type { SeenEvaluation } from './marts-truth.ts'

// The reports over evaluations, from the world alone. Definitions: the comments of the views.

/** How far the appraisal is from the guide, then and now, and what is left after reconditioning. */
export function appraisalGap(truth: MartTruth): ReportRow[] {
  return truth.present
    .filter((one) => one.truth.finalPrice !== null)
    .map((one) => {
      const { prices } = one
      const { reconTotal, reconditioning, finalPrice } = one.truth
      const costs = reconditioning.flatMap((line) => costOf(line) ?? [])
      const lines = costs.length === 0 ? null : total(costs)
      const recon = milli(reconTotal) ?? lines
      const price = milli(finalPrice)
      const [first, now] = [prices?.first, prices?.now]
      const gap = less(price, milli(first?.wholesale))
      const room = (retail: bigint | null) => less(less(retail, price), recon ?? 0n)
      return {
        ...evaluationOf(truth, one),
        currency_code: one.rooftop.currency,
        appraised_price: moneyText(price),
        recon_total: moneyText(recon),
        wholesale_first: moneyText(milli(first?.wholesale)),
        retail_first: moneyText(milli(first?.retail)),
        wholesale_now: moneyText(milli(now?.wholesale)),
        retail_now: moneyText(milli(now?.retail)),
        gap_to_wholesale_first: moneyText(gap),
        gap_share: ratio(gap, milli(first?.wholesale)),
        gross_room_first: moneyText(room(milli(first?.retail))),
        gross_room_now: moneyText(room(milli(now?.retail))),
      }
    })
}

export function lookToBook(truth: MartTruth): ReportRow[] {
  const isBought = boughtIn(truth)
  return grouped(
    truth.present,
    (one) => ({
      ...rooftopOf(truth, one.rooftop),
      month_start: one.month,
      ...salespersonOf(truth, one.truth),
    }),
    (members) => {
      const [{ rooftop, month }] = members
      const bought = knownBought(truth, rooftop, month, count(members, isBought))
      return {
        appraisals: members.length,
        bought,
        look_to_book_share: bought === null ? null : share(bought, members.length),
      }
    },
  )
}

/** Whether some unit of the stock lists was bought on the evaluation. */
export function boughtIn({ units }: MartTruth): (one: SeenEvaluation) => boolean {
  const ids = new Set(units.map(({ outcome }) => outcome?.evalId))
  return ({ evalId }) => ids.has(evalId)
}

const dayMs = 86_400_000

export function timeToComplete(truth: MartTruth): ReportRow[] {
  return grouped(
    truth.present.filter(({ tookMs }) => tookMs !== null),
    (one) => ({ ...rooftopOf(truth, one.rooftop), month_start: one.month }),
    (members) => {
      const took = members.map(({ tookMs }) => tookMs!)
      const overADay = count(took, (ms) => ms > dayMs)
      return {
        evaluations: took.length,
        median_minutes: exactPercentileMinutes(took, 50),
        p90_minutes: exactPercentileMinutes(took, 90),
        over_a_day: overADay,
        over_a_day_share: share(overADay, took.length),
      }
    },
  )
}

export function photoCompleteness(truth: MartTruth): ReportRow[] {
  return grouped(
    truth.present,
    (one) => ({ ...rooftopOf(truth, one.rooftop), month_start: one.month }),
    (members) => {
      const photos = (one: SeenEvaluation) => one.truth.photos.length
      const withHero = (source: string | null) => (one: SeenEvaluation) =>
        photos(one) > 0 && one.heroSource === source
      const none = count(members, (one) => photos(one) === 0)
      return {
        evaluations: members.length,
        no_photo: none,
        under_eight: count(members, (one) => photos(one) > 0 && photos(one) < 8),
        hero_not_chosen: count(members, withHero('default')),
        contract_breach: count(members, withHero(null)),
        complete: count(members, (one) => photos(one) >= 8 && withHero('manual')(one)),
        photos: members.reduce((sum, one) => sum + photos(one), 0),
        no_photo_share: share(none, members.length),
      }
    },
  )
}

/** What was asked and what failed follows from how the test made the source answer. */
export function pricingCoverage(truth: MartTruth): ReportRow[] {
  const { unpriced } = truth.fixture
  return grouped(
    truth.present,
    (one) => ({ ...rooftopOf(truth, one.rooftop), month_start: one.month }),
    (members) => {
      const times = members.flatMap(({ prices }) => prices?.confirmedAt ?? [])
      const ages = members.flatMap(({ prices, rooftop }) =>
        prices ? localDaysBetween(prices.confirmedAt, truth.now, rooftop.timezone) : [],
      )
      const days = ages.reduce((sum, age) => sum + age, 0)
      const oldest = times.toSorted((a, b) => a.getTime() - b.getTime())[0]
      const why = ({ evalId }: SeenEvaluation) => unpriced.get(evalId) ?? null
      return {
        evaluations: members.length,
        priced: times.length,
        priced_share: share(times.length, members.length),
        cannot_be_priced: count(members, (one) => ['skipped', 'rejected'].includes(why(one) ?? '')),
        // One that has a price counts as priced, whatever came of asking again.
        failed: count(members, (one) => why(one) === 'failed'),
        not_asked: count(members, (one) => one.prices === null && why(one) === null),
        average_age_days: ages.length === 0 ? null : quotient(BigInt(days), BigInt(ages.length), 2),
        oldest_confirmed_at: oldest?.toISOString() ?? null,
      }
    },
  )
}

export function appraisalVolume(truth: MartTruth): ReportRow[] {
  return grouped(
    truth.present,
    (one) => ({
      ...rooftopOf(truth, one.rooftop),
      ...{ completed_date: one.completedOn, month_start: one.month },
      currency_code: one.rooftop.currency,
    }),
    (members) => {
      const prices = members.flatMap((one) => milli(one.truth.finalPrice) ?? [])
      const value = total(prices)
      return {
        appraisals: members.length,
        with_price: prices.length,
        value_sum: prices.length === 0 ? null : moneyText(value),
        average_price:
          prices.length === 0 ? null : quotient(value, 1000n * BigInt(prices.length), 3),
      }
    },
  )
}

/** Edits that were seen after completion; those between two nights are one. */
export function postCompletionChanges(truth: MartTruth): ReportRow[] {
  const changes = truth.present.flatMap((one) =>
    one.versions.slice(1).flatMap((version, at) => {
      const before = one.versions[at]!
      return version.since > one.truth.completedAt ? [{ one, version, before }] : []
    }),
  )
  return grouped(
    changes,
    ({ one, version }) => ({
      ...rooftopOf(truth, one.rooftop),
      month_start: monthOf(localDay(version.since, one.rooftop.timezone)),
      ...salespersonOf(truth, version.truth),
      currency_code: one.rooftop.currency,
    }),
    (members) => {
      const differs =
        (field: 'finalPrice' | 'userEmail' | 'reconTotal' | 'reconditioning') =>
        (change: (typeof members)[0]) =>
          JSON.stringify(change.version.truth[field]) !== JSON.stringify(change.before.truth[field])
      const moves = members.map(({ version, before }) =>
        less(milli(version.truth.finalPrice), milli(before.truth.finalPrice)),
      )
      const sumOf = (sign: bigint) =>
        total(moves.map((move) => (move !== null && move * sign > 0n ? move * sign : 0n)))
      const isWork = (change: (typeof members)[0]) =>
        differs('reconditioning')(change) || differs('reconTotal')(change)
      return {
        changes: members.length,
        evaluations: new Set(members.map(({ one }) => evaluationKey(truth, one))).size,
        price_changes: count(members, differs('finalPrice')),
        price_increase_sum: moneyText(sumOf(1n)),
        price_decrease_sum: moneyText(sumOf(-1n)),
        reassignments: count(members, differs('userEmail')),
        recon_changes: count(members, isWork),
      }
    },
  )
}
