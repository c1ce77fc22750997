import { z } from 'zod'
import { contentHash } from './content-hash.ts'
import { isObject, jsonPath } from './json-path.ts'

// The names that the two documents leave 'not shown', with the defaults that the sandbox uses. The config can change every one.

const headerName = (fallback: string) =>
  z
    .string()
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is not a name of a header')
    .default(fallback)
/** A path below the base URL, with a query where it needs one; a field replaces `{name}`. */
const urlPath = (fallback: string) =>
  z
    .string()
    .regex(/^\/[^\s#]*$/, `is not a path: it begins with /, e.g. ${fallback}`)
    .refine(
      (path) => [...path.matchAll(/\{[^}]*\}/g)].every(([part]) => fallback.includes(part)),
      `names an unknown field: only the fields of ${fallback} exist`,
    )
    .default(fallback)
/** A name of a request field. */
const name = (fallback: string) => z.string().min(1).default(fallback)
const text = (fallback: string) => z.string().default(fallback)
/** The path of a value in an answer. */
const path = (fallback: string | string[]) => jsonPath.default(fallback)
/** The same for settings whose default is their own name, as it is or with a capital. */
const names = <N extends string>(...all: N[]) => fromNames(all, name)
const paths = <N extends string>(...all: N[]) => fromNames(all, path)
const capitals = <N extends string>(...all: N[]) =>
  fromNames(all, (one) => path(one.charAt(0).toUpperCase() + one.slice(1)))
const fromNames = <N extends string, Setting>(all: readonly N[], make: (one: N) => Setting) =>
  Object.fromEntries(all.map((one) => [one, make(one)])) as Record<N, Setting>
const group = <S extends z.ZodRawShape>(shape: S) => z.strictObject(shape).prefault({} as never)

/** Of a check, however it is asked for. */
const checkPaths = {
  id: path(['ID', 'Id', 'id']),
  createdAt: path('CreatedAt'),
  pdfUrl: path(['PdfUrl', 'PDF', 'pdfUrl']),
}
/** Fields of an evaluation that the document does not show, by the names of their settings. */
const evaluationPaths = {
  ...capitals('make', 'model', 'variant', 'year', 'registration', 'registrationState'),
  odometer: path(['Odometer', 'km', 'Km', 'KM']),
  ...capitals('colour', 'condition', 'notes', 'customerName', 'customerPhone', 'customerEmail'),
  ...capitals('customerPostcode', 'customerState', 'customerAddress', 'customerSuburb'),
}
export type HeldName = keyof typeof evaluationPaths
/** All names that `wire.appraisal.held` may have. */
export const allHeldNames = Object.keys(evaluationPaths) as HeldName[]

const appraisal = group({
  held: z
    .array(z.enum(allHeldNames))
    .default([])
    .describe('Columns that stay empty until their names are proved: "wire check --write" [A §2]'),
  authHeader: headerName('Authorization').describe('Header that carries the API key [A §5.5]'),
  authPrefix: z
    .string()
    .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'has a character that no HTTP header carries')
    .default('')
    .describe('Text before the key in that header, e.g. "Bearer " [A §5.5]'),
  error: path(['error', 'message', 'Message']).describe(
    'The text of an error body, where its shape is not shown [A §7]',
  ),
  enterVin: group({
    options: path(['VechielDescriptions', 'options']),
    description: path('Description'),
  }).describe('Options of an ambiguous AU VIN: in the item of the array, in the option [A §4]'),
  updateEval: group({
    pricing: path(['pricingAi', 'PricingAi']),
    gccPricing: path(['gccPriceGuide', 'GccPriceGuide']),
  }).describe('Pricing on the answer of /dcupdateeval [A §4]'),
  evalList: group({
    items: path('').describe('The path of the items in the answer of /getevallist [A §4]'),
    id: path('EvalID').describe('The evaluation id of a list item [A §4]'),
    updatedAt: path('UpdatedAt').describe(
      'The update time of a list item, where it has one [A §4]',
    ),
  }),
  evaluation: group({
    dealerId: path('DealerID'),
    ...evaluationPaths,
  }).describe('Evaluation fields that the document does not show [A §2]'),
  customField: group({
    name: path(['name', 'Name']),
    type: path(['type', 'Type']),
    value: path(['value', 'Value']),
  }).describe('Parts of a custom field in customFields [A §2]'),
  userPrice: group({
    amount: path(['price', 'Price', 'amount', 'Amount']),
    currency: path(['currency', 'Currency']),
  }).describe('Parts of a UserPrices item [A §2]'),
  pastCheck: group(checkPaths).describe('Past PPSR / Car History item [A §2]'),
  ppsrCertificate: group({
    ...checkPaths,
    ...capitals('certificateNumber', 'securityInterests', 'writeOffs', 'stolen'),
  }).describe('Answer of /ppsrsearch [A §2]'),
  carHistory: group(checkPaths).describe('Answer of /carhistory [A §4]'),
  watch: group({
    checks: path('Checks'),
    checkId: path(['ID', 'Id', 'id']),
    checkStatus: path('WatchStatus'),
    checkedAt: path('CheckedAt'),
  }).describe('Answer of /ppsrwatch [A §4]'),
  webhook: group({
    items: path(''),
    id: path('id'),
    type: path('type'),
    triggerEvent: path('trigger_event'),
    url: path('webhook'),
    authHeaderName: path('auth_header_name'),
  }).describe('Webhook record [A §2]'),
  webhookBody: group({
    evaluation: path('').describe(
      'The path of the evaluation in the body of an eval webhook [A §6]',
    ),
    driveId: path(['DriveID', 'id']).describe('The id in the body of a drive webhook [A §6]'),
    driveEvalId: path('EvalID').describe('The evaluation in the body of a drive webhook [A §6]'),
  }),
  generatedUser: group({
    namePrefix: text('Link Capture').describe('Generated accounts: start of the name [A §2]'),
    emailSuffix: text('@link-capture.invalid').describe(
      'Generated accounts: end of the email [A §2]',
    ),
  }),
})

const vehicleData = group({
  error: path(['error', 'message', 'Message']).describe('The text of an error body [V §7]'),
  priceBatch: group({
    submit: group({
      encoding: z.enum(['json', 'form']).default('json'),
      ...names('vehicles', 'reference', 'vin', 'adcode', 'km', 'market'),
      batchId: path('batchId'),
    }),
    poll: group({
      method: z.enum(['GET', 'POST']).default('GET'),
      path: urlPath('/v1/price-batch/{batchId}'),
      batchId: name('batchId'),
      ...paths('percentComplete', 'results', 'reference', 'retail', 'retailLow', 'retailHigh'),
      ...paths('wholesale', 'wholesaleLow', 'wholesaleHigh', 'currency', 'error'),
    }),
  }).describe('/v1/price-batch [V §4]'),
  gccDecode: group({
    image: name('image'),
    series: path('VehicleData.Series'),
    buildDate: path('VehicleData.BuildDate'),
    body: path('VehicleData.Body'),
    engine: path('VehicleData.Engine'),
    drivetrain: path('VehicleData.Drivetrain'),
    interiorColour: path('VehicleData.Int_Colour'),
  }).describe('/v1/gccfactoryvinext [V §2]'),
  auDecode: group({
    ...names('vin', 'clientReference'),
    ...paths('make', 'model', 'series', 'modelYear', 'body', 'fuel', 'cylinders', 'engineLitres'),
    ...paths('transmission', 'options', 'adcode'),
    echo: path('clientReference'),
  }).describe('/v1/vindatabasic [V §2]'),
  historyCheck: group({
    vin: name('vin'),
    ...paths('clean', 'titles', 'brands', 'salvage', 'accidents', 'thefts', 'liens'),
  }).describe('/v1/historyCheck [V §2, §4]'),
  ppsrSearch: group({
    vin: name('vin'),
    ...paths('pdfUrl', 'securityInterests', 'writeOffs', 'stolen', 'searchId'),
    watchPath: urlPath('/v1/ppsrNewSearch/{searchId}'),
    watchStatus: path('watchStatus'),
  }).describe('/v1/ppsrNewSearch and its follow-up status endpoint [V §4]'),
  priceGuide: group(names('vin', 'gccSpec', 'saleMonth', 'saleYear')).describe(
    '/v1/gccpriceguide [V §4]',
  ),
  prediction: group({
    ...names('adcode', 'vin', 'km', 'predictDate', 'reasoning'),
    requestId: path('requestId'),
    pollPath: urlPath('/v1/prediction/{requestId}'),
    ...paths('status', 'wholesale', 'retail', 'buyToRetail', 'quickSale', 'sweetSpot'),
    ...paths('confidence', 'dealer', 'customer'),
  }).describe('/v1/prediction [V §4]'),
})

/** The `wire` section of the config. */
export const wireSettings = group({ appraisal, vehicleData })
export type WireSettings = z.infer<typeof wireSettings>
export type AppraisalWire = WireSettings['appraisal']

/** The names that the sandbox uses when the config changes none. */
export const defaultWire: WireSettings = wireSettings.parse({})

/** Equal for equal settings: by it a process sees whether another one reads the same names. */
export function wireDigest(wire: WireSettings): string {
  return contentHash(wire).toString('hex')
}

/** A setting that was changed: its dotted name, its value and its default. */
interface ChangedSetting {
  readonly path: string
  readonly value: unknown
  readonly defaultValue: unknown
}

/** The settings that differ from the defaults, in the order of the schema. */
export function changedSettings(
  now: Readonly<Record<string, unknown>>,
  defaults: Readonly<Record<string, unknown>>,
  prefix = '',
): ChangedSetting[] {
  return Object.entries(defaults).flatMap(([name, fallback]) => {
    const [path, value] = [prefix + name, now[name]]
    if (isObject(fallback) && isObject(value)) return changedSettings(value, fallback, `${path}.`)
    return JSON.stringify(value) === JSON.stringify(fallback)
      ? []
      : [{ path, value, defaultValue: fallback }]
  })
}
