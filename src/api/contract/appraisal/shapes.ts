import { z } from 'zod'
import { instant } from '../fields.ts'

// Wire shapes of the appraisal service, field names verbatim. Source: its document, cited as [A §n] (see ../README.md).

const optionalText = z.string().nullish()
const optionalNumber = z.number().nullish()

/** `type`, `source`, `cost`, `value` of a reconditioning line; a battery reading has type `info` and a percentage as value [A §2]. */
export const reconditioningItem = z.object({
  type: optionalText,
  source: optionalText,
  cost: optionalNumber,
  value: z.union([z.string(), z.number()]).nullish(),
})

/** A photo of `Photos` [A §2]. `url` is a signed link: never stored. */
export const photo = z.object({
  id: z.int(),
  url: optionalText,
  order: z.int().nullish(),
  hero: z.boolean().default(false),
  heroSource: optionalText,
  angle: optionalText,
})

/** One item of the answer of `/geteval`, and the body of an eval webhook [A §2, §6]. */
export const evaluation = z.looseObject({
  EvalID: z.int().positive(),
  VIN: optionalText,
  CreatedAt: instant.nullish(),
  CompletedAt: instant.nullish(),
  UpdatedAt: instant.nullish(),
  EntryDate: optionalText,
  FinalPrice: optionalNumber,
  UserPrices: z.array(z.unknown()).nullish(),
  UserName: optionalText,
  UserEmail: optionalText,
  Reconditioning: optionalNumber,
  reconditioning_list: z.array(reconditioningItem).nullish(),
  Photos: z.array(photo).nullish(),
  customFields: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())]).nullish(),
})
export type Evaluation = z.infer<typeof evaluation>

/** A user of `/getuserlist` [A §2]. */
export const user = z.looseObject({ Name: optionalText, Email: z.string().min(1) })
export type User = z.infer<typeof user>

/** A raw row of `CarPics` in the answer of `/imageupload` [A §2]; further columns are not part of the contract. */
export const carPic = z.looseObject({
  ID: z.string(),
  URL: optionalText,
  order: z.union([z.int(), z.string()]).nullish(),
  hero: z.boolean().default(false),
  heroSource: optionalText,
  angle: optionalText,
})

/** An ambiguous US or GCC VIN: detect with `descriptionSelect === true` [A §4 /entervin]. */
export const styleChoice = z.looseObject({
  VIN: optionalText,
  EvalID: z.int().positive(),
  descriptionSelect: z.literal(true),
  descriptionOptions: z.array(
    z.looseObject({
      code: z.string(),
      codeType: z.string(),
      fullDescription: optionalText,
      highlight: z.unknown(),
    }),
  ),
})

/** An ambiguous AU VIN: no EvalID, nothing was created [A §4 /entervin]. Names within the item are wire settings. */
export const styleOptions = z.array(z.looseObject({ EvalID: z.undefined().optional() })).min(1)

/** What `/entervin` and `/manualcarentry` answer beside an `error` [A §4]. */
export const decodeAnswer = z.union([styleChoice, styleOptions, evaluation])

/** [A §2 PricingAiPayload] Money in the rooftop's currency. */
export const pricingPayload = z.looseObject({
  confidence: z.string(),
  prediction_date: z.iso.date(),
  prices: z.looseObject({
    wholesale: optionalNumber,
    wholesale_low: optionalNumber,
    wholesale_high: optionalNumber,
    buy_to_retail: optionalNumber,
    retail: optionalNumber,
    quick_sale: optionalNumber,
    sweet_spot: optionalNumber,
  }),
  currency_symbol: z.string(),
  evalId: z.int().positive(),
  reasoning: z
    .looseObject({
      status: z.enum(['processing', 'completed', 'unavailable']),
      dealer: z.unknown(),
      customer: z.unknown(),
    })
    .nullish(),
})
export type PricingPayload = z.infer<typeof pricingPayload>

/** PPSR watch statuses, most noteworthy first; the first two are terminal [A §3]. */
export const watchStatuses = [
  'changed',
  'expired',
  'watching',
  'unchanged',
  'disabled',
  'not_watched',
] as const

/** Any text: the stream that stores an unknown status warns of it. */
const watchStatus = z.string()

/** Past PPSR and Car History items [A §2]; the paths of link, id and time are wire settings. */
export const pastChecks = z.array(
  z.looseObject({
    WatchStatus: watchStatus.nullish(),
    SearchNumber: z.union([z.string(), z.number()]).nullish(),
    CertificateNumber: z.union([z.string(), z.number()]).nullish(),
  }),
)

/** [A §4 /ppsrwatch] The items of `Checks` are not shown. */
export const watchAnswer = z.looseObject({ WatchStatus: watchStatus })

/** Paths of the evaluation that the document names; anything else is an undocumented field in the drift report. */
export const documentedEvaluationPaths: readonly string[] = [
  'EvalID',
  'VIN',
  'CreatedAt',
  'CompletedAt',
  'UpdatedAt',
  'EntryDate',
  'FinalPrice',
  'UserPrices',
  'UserName',
  'UserEmail',
  'Reconditioning',
  'reconditioning_list',
  'reconditioning_list[].type',
  'reconditioning_list[].source',
  'reconditioning_list[].cost',
  'reconditioning_list[].value',
  // The photos once more, as raw rows: not loaded.
  'CarPics',
  ...Object.keys(carPic.shape).map((field) => `CarPics[].${field}`),
  'Photos',
  'Photos[].id',
  'Photos[].url',
  'Photos[].order',
  'Photos[].hero',
  'Photos[].heroSource',
  'Photos[].angle',
  'customFields',
]
/** Paths that the document says are on every evaluation answer [A §2]. */
export const requiredEvaluationPaths: readonly string[] = ['EvalID', 'CreatedAt', 'UpdatedAt']
