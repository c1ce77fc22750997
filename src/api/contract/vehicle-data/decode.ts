import { z } from 'zod'
import type { WireSettings } from '../../../values/wire.ts'
import { vin17 } from '../fields.ts'
import { operation } from '../operation.ts'
import { fieldReader } from '../reading.ts'

const keyErrors = { 401: 'no API key', 403: 'wrong API key' }

/** The documented part of the factory build of a GCC vehicle [V §2]. */
const gccBuild = z.object({
  VehicleData: z.object({
    VIN: z.string(),
    MY: z.union([z.string(), z.number()]).nullish(),
    Make: z.string().nullish(),
    Model: z.string().nullish(),
    Variant: z.string().nullish(),
    Transmission: z.string().nullish(),
    Ext_Colour: z.string().nullish(),
    GCC: z.boolean().nullish(),
    ADCode: z.string().nullish(),
  }),
  VehicleSpec: z.object({ FactoryOptions: z.array(z.string()).nullish() }).nullish(),
})

const gccFields = fieldReader(
  { text: ['series', 'buildDate', 'body', 'engine', 'drivetrain', 'interiorColour'] },
  ({ vehicleData }) => vehicleData.gccDecode,
)

/** Factory build by VIN, or by an image of it [V §4 /v1/gccfactoryvinext]. */
export const decodeGcc = operation({
  name: 'gccfactoryvinext',
  service: 'vehicleData',
  effect: 'read',
  transport: { path: '/v1/gccfactoryvinext', encoding: 'form' },
  summary: 'Factory build of a GCC vehicle, by VIN or by an image of the VIN',
  source: '[V §4 /v1/gccfactoryvinext]',
  fields: { vin: vin17.optional() },
  problem: ({ vin }, fileCount) =>
    vin === undefined && fileCount === 0 ? 'needs --vin, or --file with an image of the VIN' : null,
  file: {
    name: ({ vehicleData }) => vehicleData.gccDecode.image,
    required: false,
    several: false,
    description: 'JPG or PNG with the VIN clearly readable, instead of vin',
  },
  statuses: { ...keyErrors, 400: 'neither a VIN nor a readable image', 404: 'VIN not found' },
  example: { vin: 'SAMPLEGCC00000001' },
  read: Object.assign(
    (body: unknown, wire: WireSettings) => ({ ...gccBuild.parse(body), ...gccFields(body, wire) }),
    { shape: gccBuild, placed: gccFields.placed },
  ),
})

/** Factory build of an Australian vehicle; every name is a wire setting [V §4 /v1/vindatabasic]. */
export const decodeAu = operation({
  name: 'vindatabasic',
  service: 'vehicleData',
  effect: 'read',
  transport: { path: '/v1/vindatabasic', encoding: 'form' },
  summary: 'Factory build of an Australian vehicle, by VIN',
  source: '[V §4 /v1/vindatabasic]',
  fields: {
    vin: vin17,
    clientReference: z.string().min(1).optional().describe('echoed in the answer'),
  },
  names: ({ vehicleData: { auDecode } }) => ({
    vin: auDecode.vin,
    clientReference: auDecode.clientReference,
  }),
  statuses: { ...keyErrors, 400: 'no VIN', 404: 'VIN not found' },
  example: { vin: 'SAMPLEAU000000001', clientReference: 'stock-17' },
  read: fieldReader(
    {
      text: [
        ...(['make', 'model', 'series', 'modelYear', 'body', 'fuel'] as const),
        ...(['transmission', 'adcode', 'clientReference'] as const),
      ],
      number: ['cylinders', 'engineLitres'],
      list: ['options'],
    },
    ({ vehicleData: { auDecode } }) => ({ ...auDecode, clientReference: auDecode.echo }),
  ),
})

export const decodeOperations = [decodeGcc, decodeAu] as const
