import { z } from 'zod'
import { vin17 } from '../fields.ts'
import { operation } from '../operation.ts'
import { listAt, numberAt, textAt } from './reading.ts'

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
  read: (body, { vehicleData: { gccDecode } }) => ({
    ...gccBuild.parse(body),
    series: textAt(body, gccDecode.series),
    buildDate: textAt(body, gccDecode.buildDate),
    body: textAt(body, gccDecode.body),
    engine: textAt(body, gccDecode.engine),
    drivetrain: textAt(body, gccDecode.drivetrain),
    interiorColour: textAt(body, gccDecode.interiorColour),
  }),
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
  read: (body, { vehicleData: { auDecode } }) => ({
    make: textAt(body, auDecode.make),
    model: textAt(body, auDecode.model),
    series: textAt(body, auDecode.series),
    modelYear: textAt(body, auDecode.modelYear),
    body: textAt(body, auDecode.body),
    fuel: textAt(body, auDecode.fuel),
    cylinders: numberAt(body, auDecode.cylinders),
    engineLitres: numberAt(body, auDecode.engineLitres),
    options: listAt(body, auDecode.options),
    transmission: textAt(body, auDecode.transmission),
    adcode: textAt(body, auDecode.adcode),
    clientReference: textAt(body, auDecode.echo),
  }),
})

export const decodeOperations = [decodeGcc, decodeAu] as const
