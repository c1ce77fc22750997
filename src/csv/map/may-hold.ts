import type { SampleColumn } from './column.ts'
import type { VitalField } from './stock-fields.ts'

const otherPrice =
  /^(cost|wholesale|trade|week|weekly|month|monthly|finance|repayment|deposit|tax|duty|fee|fees|discount|saving|save|msrp|rrp|invoice|book|reserve)$/
const otherDate =
  /^(sold|sale|update|updated|modified|changed|last|expiry|expires|expired|due|service|registration|build|built|manufacture|production|compliance|birth|photo|photos|price|priced|published|end|off|out|warranty|inspection|mot|wof|test|first|release|available|ppsr|search|check|checked)$/

/** Whether the values fit a field that the header does not name. Enough to ask the user, never to use the column. */
export const mayHold: Readonly<Record<VitalField, (column: SampleColumn) => boolean>> = {
  price_asking: ({ name: { words }, profile: { share, median } }) => {
    if (words.some((word) => otherPrice.test(word)) || share.year >= 0.9) return false
    const isNamed = words.some((word) =>
      /^(price|prices|pricing|asking|amount|سعر|السعر)$/.test(word),
    )
    const isLarge = share.number >= 0.8 && (median ?? 0) >= 1000
    const isMoney = isLarge && (share.cents >= 0.5 || words.length === 0)
    return isMoney || (isNamed && (share.number >= 0.3 || share.digits >= 0.5))
  },
  model_year: ({ name: { words }, profile: { share } }) => {
    const isNamed = words.some((word) => /^(year|years|my|jahr|baujahr|السنه|سنه)$/.test(word))
    return isNamed ? share.digits >= 0.5 : share.modelYear >= 0.9 && share.date < 0.5
  },
  odometer: ({ name: { words, unit }, profile: { share, median } }) => {
    const isNamed =
      unit !== null ||
      words.some((word) => /^(odometer|mileage|speedo|travelled|driven|عداد|الممشي)$/.test(word))
    const isDistance = share.number >= 0.5 && (median ?? 0) >= 500
    return share.distance >= 0.5 || (isNamed && (isDistance || share.digits >= 0.5))
  },
  received_date: ({ name: { words }, profile: { share } }) =>
    share.date >= 0.6 && !words.some((word) => otherDate.test(word)),
}
