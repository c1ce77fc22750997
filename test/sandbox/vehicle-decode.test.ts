import { crc32 } from 'node:zlib'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { decodeAu, decodeGcc } from '#src/contract/vehicle-data/decode.ts'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { defaultWire, wireSettings } from '#src/values/wire.ts'
import { sendForm } from './ask-vehicle-data.ts'

const start = (options: SandboxOptions = {}) => startSandbox({ world: worldOf(), ...options })
const gccPath = '/v1/gccfactoryvinext'
const auPath = '/v1/vindatabasic'
const anyVin = 'JTMDFREV90D654321'
const picture = { width: 60, height: 20, channels: 3, background: 'white' } as const
const jpeg = await sharp({ create: picture }).jpeg().toBuffer()
const png = await sharp({ create: picture }).png().toBuffer()

test('a GCC VIN decodes to its factory build', async () => {
  await using sandbox = await start()

  const { status, json } = await sendForm(sandbox, gccPath, { vin: 'SAMPLEGCC00000001' })

  const text = expect.stringMatching(/\S/)
  expect(status).toBe(200)
  expect(json).toEqual({
    VehicleData: {
      VIN: 'SAMPLEGCC00000001',
      MY: expect.stringMatching(/^20\d\d$/),
      Make: 'Toyota',
      Model: text,
      Variant: text,
      Transmission: text,
      Ext_Colour: expect.stringMatching(/^\w[\w ]+ \(\w+\)$/),
      GCC: expect.any(Boolean),
      ADCode: expect.stringMatching(/^GC.{11}$/),
      Series: text,
      BuildDate: expect.stringMatching(/^20\d\d-(0[1-9]|1[0-2])$/),
      Body: text,
      Engine: text,
      Drivetrain: text,
      Int_Colour: text,
    },
    VehicleSpec: { FactoryOptions: expect.any(Array) },
  })
})

test('a VIN always decodes to the same, in any case', async () => {
  await using one = await start()
  await using other = await start()

  const first = await sendForm(one, gccPath, { vin: anyVin })
  const second = await sendForm(other, gccPath, { vin: anyVin.toLowerCase() })
  expect(first.status).toBe(200)
  expect(second).toEqual(first)
})

test('an ambiguous VIN is exact in a factory decode', async () => {
  await using sandbox = await start()

  const gcc = await sendForm(sandbox, gccPath, { vin: 'SAMPLEGCC00000002' })
  const au = await sendForm(sandbox, auPath, { vin: 'SAMPLEAU000000002' })
  expect(gcc.json['VehicleData']).toMatchObject({ Variant: expect.any(String) })
  expect(au.json['adcode']).toEqual(expect.any(String))
})

test.each([
  [gccPath, 'SAMPLEXX000000000'],
  [gccPath, 'SAMPLEAU000000001'],
  [gccPath, 'IIIIIIIIIIIIIIIII'],
  [auPath, 'SAMPLEXX000000000'],
  [auPath, 'SAMPLEGCC00000001'],
])('%s answers 404 for %s', async (path, vin) => {
  await using sandbox = await start()

  expect(await sendForm(sandbox, path, { vin })).toEqual({
    status: 404,
    json: { error: 'VIN not found' },
  })
})

test.each([
  [gccPath, {}],
  [gccPath, { vin: 'SHORT' }],
  [auPath, {}],
  [auPath, { vin: 'SHORT' }],
])('%s with %o is a 400', async (path, fields) => {
  await using sandbox = await start()

  const { status, json } = await sendForm(sandbox, path, fields)
  expect(status).toBe(400)
  expect(json).toEqual({ error: expect.stringContaining('vin') })
})

test.each([gccPath, auPath])('%s needs the key', async (path) => {
  await using sandbox = await start()

  const statusWith = async (key: string | null) =>
    (await sendForm(sandbox, path, { vin: anyVin }, key)).status
  expect([await statusWith(null), await statusWith('wrong')]).toEqual([401, 403])
})

test('an AU VIN decodes to build data with the client reference echoed', async () => {
  await using sandbox = await start()

  const fields = { vin: 'SAMPLEAU000000001', clientReference: 'stock 17 ü' }
  const { status, json } = await sendForm(sandbox, auPath, fields)

  const text = expect.stringMatching(/\S/)
  expect(status).toBe(200)
  expect(json).toEqual({
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
    clientReference: 'stock 17 ü',
  })
})

test('without a client reference none is echoed', async () => {
  await using sandbox = await start()

  const { json } = await sendForm(sandbox, auPath, { vin: 'SAMPLEAU000000001' })
  expect(json).not.toHaveProperty('clientReference')
})

test('a urlencoded form is taken too', async () => {
  await using sandbox = await start()

  const response = await fetch(sandbox.vehicleDataUrl + auPath, {
    method: 'POST',
    headers: { authorization: sandbox.vehicleDataKey },
    body: new URLSearchParams({ vin: 'SAMPLEAU000000001' }),
  })
  expect(response.status).toBe(200)
})

test('a VIN that was appraised decodes to what the evaluation says', async () => {
  const evaluation = anEvaluation({ make: 'Mazda', model: 'CX-5', variant: 'Akera', year: 2019 })
  await using sandbox = await start({ world: worldOf({ evaluations: [evaluation] }) })

  const { json } = await sendForm(sandbox, auPath, { vin: evaluation.vin! })
  expect(json).toMatchObject({ make: 'Mazda', model: 'CX-5', modelYear: '2019' })
})

test.each<[string, File]>([
  ['in the name of a JPG', new File([jpeg], 'vin SAMPLEGCC00000001.jpg')],
  ['in the name of a PNG', new File([png], 'samplegcc00000001.png')],
  [
    'in the EXIF description of a JPG',
    new File(
      [
        await sharp(jpeg)
          .withExif({ IFD0: { ImageDescription: 'SAMPLEGCC00000001' } })
          .toBuffer(),
      ],
      'photo.jpg',
    ),
  ],
  ['in a text of a PNG', new File([withText(png, 'SAMPLEGCC00000001')], 'photo.png')],
])('an image with the VIN %s decodes', async (_name, image) => {
  await using sandbox = await start()

  const { status, json } = await sendForm(sandbox, gccPath, { image })
  expect(status).toBe(200)
  expect(json['VehicleData']).toMatchObject({ VIN: 'SAMPLEGCC00000001' })
})

const named = 'SAMPLEGCC00000001'

test.each<[string, number, File]>([
  ['without a VIN', 404, new File([jpeg], 'photo.jpg')],
  ['of a longer number', 404, new File([jpeg], `X${named}.jpg`)],
  ['of no bytes', 400, new File([], `${named}.jpg`)],
  ['that is text', 400, new File(['not an image'], `${named}.jpg`)],
  ['cut off', 400, new File([jpeg.subarray(0, jpeg.length - 40)], `${named}.jpg`)],
  ['of another format', 400, new File([await sharp(png).webp().toBuffer()], `${named}.webp`)],
])('an image %s is a %i', async (_name, expected, image) => {
  await using sandbox = await start()

  const { status, json } = await sendForm(sandbox, gccPath, { image })
  expect(status).toBe(expected)
  expect(json).toEqual({ error: expect.any(String) })
})

test('names that are not shown follow the wire settings', async () => {
  const wire = wireSettings.parse({
    vehicleData: {
      gccDecode: { image: 'photo', series: 'Extra.SeriesName', interiorColour: 'Trim' },
      auDecode: { vin: 'chassis', clientReference: 'ref', make: 'v.make', echo: 'v.ref' },
    },
  })
  await using sandbox = await start({ wire })

  const photo = new File([jpeg], 'SAMPLEGCC00000001.jpg')
  const gcc = await sendForm(sandbox, gccPath, { photo })
  const au = await sendForm(sandbox, auPath, { chassis: 'SAMPLEAU000000001', ref: 'r-1' })

  expect(gcc.json).toMatchObject({
    Extra: { SeriesName: expect.any(String) },
    Trim: expect.any(String),
  })
  expect(au.json).toMatchObject({ v: { make: 'Toyota', ref: 'r-1' } })
})

test('the client reads every field of both answers', async () => {
  await using sandbox = await start()
  const gcc = await sendForm(sandbox, gccPath, { vin: 'SAMPLEGCC00000001' })
  const au = await sendForm(sandbox, auPath, { vin: 'SAMPLEAU000000001', clientReference: 'r' })

  const read = [decodeGcc.read(gcc.json, defaultWire), decodeAu.read(au.json, defaultWire)]
  expect(read.flatMap((one) => Object.values(one))).not.toContain(null)
})

/** A PNG with a tEXt chunk after its header. */
function withText(image: Buffer, text: string): Buffer<ArrayBuffer> {
  const data = Buffer.from(`tEXtDescription\0${text}`, 'latin1')
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length - 4)
  checksum.writeUInt32BE(crc32(data))
  const afterHeader = 33
  return Buffer.concat([
    image.subarray(0, afterHeader),
    length,
    data,
    checksum,
    image.subarray(afterHeader),
  ])
}
