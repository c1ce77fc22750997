import { z } from 'zod'
import { evalid, state } from '../fields.ts'
import { operation, readAs } from '../operation.ts'
import { decodeAnswer, evaluation, pricingPayload } from './shapes.ts'

// Beginning, styling and completing an evaluation [A §1, §3, §4].

/** Starts an evaluation, unless the VIN is ambiguous in Australia or cannot be decoded [A §4 /entervin]. */
export const enterVin = operation({
  name: 'entervin',
  effect: 'write',
  summary: 'Starts an evaluation from a VIN, or from a plate and its state',
  source: '[A §4 /entervin]',
  fields: {
    vin: z.string().min(1).describe('17-character VIN, or a plate (then state is required)'),
    state: state.optional(),
  },
  status: 201,
  statuses: {
    200: 'AU sample VINs',
    400: 'vin missing, of a wrong length without a state, or state malformed',
    403: 'invalid API key',
    429: 'sandbox real-lookup quota reached',
  },
  example: { vin: 'SAMPLEAU000000001' },
  read: readAs(decodeAnswer),
})

/** Chooses a style, or starts from one without a VIN [A §4 /manualcarentry]. */
export const manualCarEntry = operation({
  name: 'manualcarentry',
  effect: 'write',
  summary: 'Chooses the style of an ambiguous VIN, or starts from a style without one',
  source: '[A §4 /manualcarentry]',
  fields: {
    vin: z.string().min(1).optional().describe('VIN that was entered; none to start without'),
    desc: z.string().min(1).optional().describe('AU: the chosen Description of /entervin'),
    evalid: evalid.optional().describe('US/GCC: the EvalID of /entervin, updated in place'),
    code: z.string().min(1).optional().describe('US: provider style id; GCC: 13-character ADCode'),
    codeType: z
      .string()
      .min(1)
      .optional()
      .describe('US: echoed from the option of /entervin; GCC: ADData'),
  },
  status: 201,
  statuses: {
    400: 'nothing to start from, an unknown style, or a codeType that the region does not know',
    403: 'invalid API key, or an evaluation of another dealer group',
  },
  about: { 403: 'keyOrRecord' },
  example: { vin: 'SAMPLEAU000000002', desc: 'Toyota HiLux SR5 Double Cab' },
  read: readAs(decodeAnswer),
})

const money = z.number()
const flag = z.int().min(0).max(1)
const text = z.string()

/** Completes an evaluation, or overwrites fields of a complete one [A §4 /dcupdateeval]. */
export const updateEvaluation = operation({
  name: 'dcupdateeval',
  effect: 'write',
  summary: 'Completes an evaluation (first call) or overwrites its fields (later ones)',
  source: '[A §4 /dcupdateeval]',
  fields: {
    evalid,
    km: z.int().min(0).optional().describe('odometer; needed the first time, which completes it'),
    notes: text.optional().describe('notes on the evaluation'),
    condition: z.int().min(0).max(10).optional().describe('0 unroadworthy to 10 showroom'),
    vin: text.optional().describe('another VIN than it was started with'),
    sparekey: flag.optional().describe('1 yes, 0 no; omit if unknown'),
    service: z
      .int()
      .min(0)
      .max(6)
      .optional()
      .describe('6 full mixed, 5 full genuine, 4 full non-genuine, 3 partial, 2 none'),
    financed: flag.optional().describe('1 yes, 0 no; omit if unknown'),
    financename: text.optional().describe('who financed it'),
    financeamt: z.int().optional().describe('amount still owed'),
    financepmt: z.int().optional().describe('monthly repayment'),
    recondetail: money.optional().describe('reconditioning amount: detailing'),
    reconrims: money.optional().describe('reconditioning amount: rims'),
    reconpaint: money.optional().describe('reconditioning amount: paint'),
    reconint: money.optional().describe('reconditioning amount: interior'),
    reconrego: money.optional().describe('reconditioning amount: registration'),
    reconscreen: money.optional().describe('reconditioning amount: screen'),
    reconrwc: money.optional().describe('reconditioning amount: roadworthy certificate'),
    recontyres: z.int().optional().describe('number of tyres to replace'),
    wtymth: z.int().optional().describe('month the warranty ends'),
    wtyyear: z.int().optional().describe('year the warranty ends'),
    svcmth: z.int().optional().describe('month of the last service'),
    svcyear: z.int().optional().describe('year of the last service'),
    cName: text.optional().describe('customer: name'),
    cPhone: text.optional().describe('customer: phone'),
    cEmail: text.optional().describe('customer: email'),
    cPCode: text.optional().describe('customer: postcode'),
    cState: text.optional().describe('customer: state'),
    cAddress: text.optional().describe('customer: address'),
    cSuburb: text.optional().describe('customer: suburb'),
    customFields: z
      .record(z.string(), z.string())
      .optional()
      .describe('values by the exact names of customFields in /geteval'),
    price: z.int().optional().describe('appraisal amount, stored as FinalPrice'),
    finalprice: z.int().optional().describe('alias of price'),
    FinalPrice: z.int().optional().describe('alias of price'),
    pricingAi: z.boolean().optional().describe('include the pricing payload'),
    reasoning: z.boolean().optional().describe('with pricingAi: include reasoning'),
    userEmail: text.optional().describe('salesperson, an Email of /getuserlist'),
    gccPriceGuide: z.boolean().optional().describe('GCC only: return GCC pricing'),
  },
  statuses: {
    400: 'a required field is missing, a field is of a wrong type, or the evaluation is not found',
    403: 'invalid API key, or an evaluation of another dealer group',
  },
  about: { 403: 'keyOrRecord' },
  example: { evalid: 1001, km: 48_000, price: 23_500, cName: 'Pat Example' },
  read: readAs(evaluation, ({ appraisal: { updateEval } }) => [
    [updateEval.pricing, pricingPayload],
    [updateEval.gccPricing, z.unknown()],
  ]),
})

/** `/retrieveevals` is an in-app endpoint and not one of these [A §9]. */
export const creationOperations = [enterVin, manualCarEntry, updateEvaluation] as const
