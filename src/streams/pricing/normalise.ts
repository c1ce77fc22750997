import { pricingPayload } from '../../api/contract/appraisal/shapes.ts'
import { contentHash } from '../../values/content-hash.ts'
import { isRecordTime, yearsMessage } from '../../values/instant.ts'
import { moneyText } from '../../values/money.ts'
import { type Issue, RecordIssues } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { storable } from '../../values/text.ts'

export type ReasoningStatus = 'processing' | 'completed' | 'unavailable'

/** The prices of an observation by column, as `numeric(15,3)` writes them. */
interface Prices {
  readonly retail: string | null
  readonly wholesale: string | null
  readonly wholesale_low: string | null
  readonly wholesale_high: string | null
  readonly buy_to_retail: string | null
  readonly quick_sale: string | null
  readonly sweet_spot: string | null
}

/** A normalised pricing payload. */
export interface PriceRecord {
  readonly prices: Prices
  readonly confidence: string
  /** The day that the prices are for, `YYYY-MM-DD`. */
  readonly asOfDate: string
  readonly currency: string
  /** Hash of the values that make a new observation: the day and the reasoning do not. */
  readonly valueHash: Buffer
  /** null: not asked for. */
  readonly reasoning: ReasoningStatus | null
  readonly insights: { readonly dealer: readonly string[]; readonly customer: readonly string[] }
  /** The symbol as sent, where it is not one of the rooftop's currency; else null. */
  readonly strangeSymbol: string | null
}

const priceNames = [
  'retail',
  'wholesale',
  'wholesale_low',
  'wholesale_high',
  'buy_to_retail',
  'quick_sale',
  'sweet_spot',
] as const satisfies readonly (keyof Prices)[]

/** Pure. RecordIssues when the payload is of another shape, or of another evaluation. */
export function normalisePrice(body: unknown, evalId: number, rooftop: RooftopRow): PriceRecord {
  const parsed = pricingPayload.safeParse(body)
  if (!parsed.success) throw RecordIssues.fromShape(parsed.error)
  const { data } = parsed
  const issues: Issue[] = []
  if (data.evalId !== evalId)
    issues.push({ path: 'evalId', message: `is another evaluation than ${evalId}` })
  if (!isRecordTime(new Date(data.prediction_date)))
    issues.push({ path: 'prediction_date', message: yearsMessage })
  const prices = Object.fromEntries(
    priceNames.map((name) => [name, priceText(data.prices[name], `prices.${name}`, issues)]),
  ) as unknown as Prices
  if (issues.length > 0) throw new RecordIssues(issues)
  const confidence = storable(data.confidence).slice(0, 40)
  const { currency } = rooftop
  const symbol = visible(data.currency_symbol)
  const { status = null, dealer, customer } = data.reasoning ?? {}
  return {
    prices,
    confidence,
    asOfDate: data.prediction_date,
    currency,
    valueHash: contentHash([...priceNames.map((name) => prices[name]), currency, confidence]),
    reasoning: status,
    insights: { dealer: readBullets(dealer), customer: readBullets(customer) },
    strangeSymbol: currencySigns(currency).has(symbol) ? null : storable(symbol).slice(0, 20),
  }
}

/** 0 is a price of 0; left out or null is none. */
function priceText(
  amount: number | null | undefined,
  path: string,
  issues: Issue[],
): string | null {
  if (amount === null || amount === undefined) return null
  const text = moneyText(amount)
  if (text === null) issues.push({ path, message: 'is larger than numeric(15,3) holds' })
  return text
}

/** The document says "insight bullets" and no more: a list of texts, or one text. */
function readBullets(insights: unknown): string[] {
  const items = Array.isArray(insights) ? insights : [insights]
  return items
    .filter((item) => item !== null && item !== undefined && item !== '')
    .map((item) => storable(typeof item === 'string' ? item : JSON.stringify(item)))
}

const knownSigns = new Map<string, ReadonlySet<string>>()

/** How a currency may be written: its code, and its symbols at home and abroad. Many have the symbol "$". */
function currencySigns(currency: string): ReadonlySet<string> {
  const known = knownSigns.get(currency)
  if (known) return known
  const signs = ['en', 'en-AU', 'en-US', 'ar-AE'].flatMap((locale) =>
    (['symbol', 'narrowSymbol'] as const).map(
      (currencyDisplay) =>
        new Intl.NumberFormat(locale, { style: 'currency', currency, currencyDisplay })
          .formatToParts(0)
          .find(({ type }) => type === 'currency')?.value,
    ),
  )
  const made = new Set([currency, ...signs.map((sign) => visible(sign ?? currency))])
  knownSigns.set(currency, made)
  return made
}

/** Without spaces and the direction marks of Arabic. */
function visible(sign: string): string {
  return sign.replaceAll(/[\s\u200e\u200f\u061c]/g, '')
}

/**
 * The part of a payload that decides whether it is stored again. The prediction's day is left out, or every night would store
 * the same payload again. So is a reasoning that is not complete: a later answer brings it.
 */
export function pricingContent(body: unknown): unknown {
  const { prediction_date: _, reasoning, ...rest } = body as Record<string, unknown>
  const isPending = (reasoning as { status?: unknown } | undefined)?.status === 'processing'
  return isPending || reasoning === undefined || reasoning === null ? rest : { ...rest, reasoning }
}
