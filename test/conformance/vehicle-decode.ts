import { expect } from 'vitest'
import { samples } from '#src/sandbox/samples.ts'
import { at, files, listAt, text, vinImage } from './patterns.ts'
import { table, vehicle } from './row.ts'

const gccPath = '/v1/gccfactoryvinext'
const auPath = '/v1/vindatabasic'
const gccVin = samples.gccSingle.vin
const auVin = samples.auSingle.vin
const unknown = samples.undecodable.vin

export const vehicleDecodeRows = [
  ...table('V §4 /v1/gccfactoryvinext', [
    {
      says: '`vin`: string, 17 characters: 200 Factory VIN (GCC) result',
      send: vehicle(gccPath, { vin: gccVin }),
      status: 200,
      body: { VehicleData: expect.any(Object), VehicleSpec: expect.any(Object) },
      check: ({ body }) => {
        expect(Object.keys(Object(body)).sort()).toEqual(['VehicleData', 'VehicleSpec'])
        expect(Object.keys(Object(at(body, 'VehicleData')))).toHaveLength(15)
      },
    },
    ...(['jpeg', 'png'] as const).map((kind) => ({
      says: `or an image file containing the VIN: ${kind} (reading: the VIN in its file name)`,
      send: vehicle(gccPath, {}, [vinImage(gccVin, kind)]),
      status: 200,
      body: { VehicleData: { VIN: gccVin } },
    })),
    {
      says: 'an image in which no VIN is to be read: VIN not found',
      send: vehicle(gccPath, {}, [{ ...files.jpeg, field: 'image' }]),
      status: 404,
    },
    {
      says: 'an image in which no VIN is to be read: a longer number in its name is none (reading)',
      send: vehicle(gccPath, {}, [{ ...files.jpeg, field: 'image', name: `X${gccVin}.jpg` }]),
      status: 404,
    },
    ...(['noImage', 'empty', 'truncated', 'halfPng', 'drawing', 'gif'] as const).map((kind) => ({
      says: `an image file: JPG or PNG: what is neither is none (reading: 400): ${kind}`,
      send: vehicle(gccPath, {}, [{ ...files[kind], field: 'image', name: `${gccVin}.jpg` }]),
      status: 400,
    })),
    {
      says: 'neither a VIN nor an image (reading: 400)',
      send: vehicle(gccPath, {}),
      status: 400,
      body: { error: expect.stringContaining('vin') },
    },
    {
      says: '`vin`: 17 characters: not 16',
      send: vehicle(gccPath, { vin: gccVin.slice(1) }),
      status: 400,
      body: { error: expect.stringContaining('vin') },
    },
    { says: '404: VIN not found', send: vehicle(gccPath, { vin: unknown }), status: 404 },
  ]),
  ...table('V §2 Factory VIN (GCC) result', [
    {
      says: 'VehicleData.VIN: string, 17 characters',
      send: vehicle(gccPath, { vin: gccVin }),
      status: 200,
      body: { VehicleData: { VIN: gccVin } },
    },
    {
      says: 'VehicleData.MY: string, model year',
      send: vehicle(gccPath, { vin: gccVin }),
      status: 200,
      body: { VehicleData: { MY: expect.stringMatching(/^20\d\d$/) } },
    },
    {
      says: 'VehicleData.Make, Model, Variant, Transmission: string',
      send: vehicle(gccPath, { vin: gccVin }),
      status: 200,
      body: { VehicleData: { Make: 'Toyota', Model: text, Variant: text, Transmission: text } },
    },
    {
      says: 'VehicleData.Ext_Colour: string, colour name with a code',
      send: vehicle(gccPath, { vin: gccVin }),
      status: 200,
      body: { VehicleData: { Ext_Colour: expect.stringMatching(/^\w[\w ]+ \(\w+\)$/) } },
    },
    {
      says: 'VehicleData.GCC: boolean, GCC-spec flag',
      send: vehicle(gccPath, { vin: gccVin }),
      status: 200,
      body: { VehicleData: { GCC: expect.any(Boolean) } },
    },
    {
      says: 'VehicleData.ADCode: string, catalogue code',
      send: vehicle(gccPath, { vin: gccVin }),
      status: 200,
      body: { VehicleData: { ADCode: expect.stringMatching(/^GC.{11}$/) } },
    },
    {
      says: 'VehicleSpec.FactoryOptions: array of strings',
      send: vehicle(gccPath, { vin: gccVin }),
      status: 200,
      check: ({ body }) => {
        for (const option of listAt(body, 'VehicleSpec.FactoryOptions'))
          expect(option).toBeTypeOf('string')
      },
    },
  ]),
  ...table('V §1 factory VIN decode', [
    {
      says: 'exact factory build: series, build month/year, body, engine, drivetrain, interior',
      send: vehicle(gccPath, { vin: gccVin }),
      status: 200,
      body: {
        VehicleData: {
          Series: text,
          BuildDate: expect.stringMatching(/^20\d\d-(0[1-9]|1[0-2])$/),
          Body: text,
          Engine: text,
          Drivetrain: text,
          Int_Colour: text,
        },
      },
    },
    {
      says: 'exact: an ambiguous VIN has one factory build (reading): GCC',
      send: vehicle(gccPath, { vin: samples.gccAmbiguous.vin }),
      status: 200,
      body: { VehicleData: { ADCode: text, Variant: text } },
    },
    {
      says: 'exact: an ambiguous VIN has one factory build (reading): AU',
      send: vehicle(auPath, { vin: samples.auAmbiguous.vin }),
      status: 200,
      body: { adcode: text },
    },
    {
      says: 'the catalogue code is reused by the pricing APIs',
      given: [vehicle(gccPath, { vin: gccVin })],
      send: ({ last }) =>
        vehicle('/v1/gccpriceguide', {
          adcode: String(at(last.body, 'VehicleData.ADCode')),
          market: 'AE',
        }),
      status: 200,
      check: ({ body }, { last }) =>
        expect(at(body, 'adcode')).toBe(at(last.body, 'VehicleData.ADCode')),
    },
  ]),
  ...table('V §4 /v1/vindatabasic', [
    {
      says: 'a VIN: 200 Factory VIN (AU) result',
      send: vehicle(auPath, { vin: auVin }),
      status: 200,
      body: { make: text, model: text },
      lacks: ['clientReference'],
    },
    {
      says: 'an optional client reference, echoed per call [V §2]',
      send: vehicle(auPath, { vin: auVin, clientReference: 'stock 17 ü' }),
      status: 200,
      body: { clientReference: 'stock 17 ü' },
    },
    {
      says: 'a VIN is needed (reading: 400)',
      send: vehicle(auPath, {}),
      status: 400,
      body: { error: expect.stringContaining('vin') },
    },
    { says: '404: VIN not found [V §7]', send: vehicle(auPath, { vin: unknown }), status: 404 },
  ]),
  ...table('V §2 Factory VIN (AU) result', [
    {
      says: 'make, model, series, model year, body, fuel, cylinders, litres, transmission, options',
      send: vehicle(auPath, { vin: auVin }),
      status: 200,
      body: {
        make: 'Toyota',
        model: 'HiLux',
        series: text,
        modelYear: expect.stringMatching(/^20\d\d$/),
        body: text,
        fuel: 'Diesel',
        cylinders: 4,
        engineLitres: 2.8,
        transmission: text,
        options: expect.any(Array),
        adcode: expect.stringMatching(/^AU0TOYHILUX0\d$/),
      },
    },
  ]),
]
