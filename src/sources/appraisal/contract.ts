import { z } from 'zod'

// Wire shapes of the appraisal service, field names verbatim. Source: documents/appraisal-service.txt, cited as [A §n].

/** ISO-8601 with a zone designator. The document says UTC with Z [A §2]; an offset is understood too. */
const instant = z.iso.datetime({ offset: true })
const optionalText = z.string().nullish()
const optionalNumber = z.number().nullish()

/** `type`, `source`, `cost`, `value` of a reconditioning line; a battery reading has type `info` and a percentage as value [A §2]. */
export const reconditioningItem = z.looseObject({
  type: optionalText,
  source: optionalText,
  cost: optionalNumber,
  value: z.union([z.string(), z.number()]).nullish(),
})

/** A photo of `Photos` [A §2]. `url` is a signed link: never stored. */
export const photo = z.looseObject({
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
  'CarPics',
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
