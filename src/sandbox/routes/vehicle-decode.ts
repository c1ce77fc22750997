import { decodeAu, decodeGcc } from '../../api/contract/vehicle-data/decode.ts'
import { serveVehicleData, type VehicleCall } from '../call.ts'
import { findFactoryBuild } from '../factory-build.ts'
import { plainVin, requireDecoded } from '../find-vehicle.ts'
import { recogniseImage } from '../images.ts'
import { Refusal } from '../refusal.ts'
import { type JsonObject, valuesAt } from '../render.ts'

/** Decodes by VIN; the VIN has priority over an image [V §4 /v1/gccfactoryvinext]. */
export const gccDecode = serveVehicleData(decodeGcc, async (call) => {
  const { now, service } = call
  const vin = plainVin(call.fields.vin ?? vinInImage(call))
  const { vehicle, year } = requireDecoded(vin, { world: service.world, now, regions: ['GCC'] })
  const build = findFactoryBuild(vin, vehicle, year)
  const body: JsonObject = {
    VehicleData: {
      VIN: vin,
      MY: String(year),
      Make: vehicle.make,
      Model: vehicle.model,
      Variant: vehicle.variant,
      Transmission: vehicle.transmission,
      Ext_Colour: build.exteriorColour,
      GCC: build.isGccSpec,
      ADCode: vehicle.adcode,
    },
    VehicleSpec: { FactoryOptions: build.options },
  }
  const { series, body: shape, engine, drivetrain } = vehicle
  const { buildMonth: buildDate, interiorColour } = build
  const unshown = { series, buildDate, body: shape, engine, drivetrain, interiorColour }
  return valuesAt(service.wire.vehicleData.gccDecode, unshown, body)
})

/** Decodes a VIN; the client reference is returned [V §2 Factory VIN (AU)]. */
export const auDecode = serveVehicleData(decodeAu, ({ fields, now, service }) => {
  const vin = plainVin(fields.vin)
  const { vehicle, year } = requireDecoded(vin, { world: service.world, now, regions: ['AU'] })
  const { make, model, series, body, fuel, cylinders, engineLitres, transmission } = vehicle
  return valuesAt(service.wire.vehicleData.auDecode, {
    ...{ make, model, series, modelYear: String(year), body },
    ...{ fuel, cylinders, engineLitres, transmission },
    options: findFactoryBuild(vin, vehicle, year).options,
    adcode: vehicle.adcode,
    echo: fields.clientReference,
  })
})

/** The VIN of an image. The sandbox does not read pixels: it takes the VIN from the file name and from plain text in the file. 400 when
 *  there is no image or it is not a valid JPG or PNG, 404 when it names no VIN. */
function vinInImage({ files, service }: VehicleCall): string {
  const field = service.wire.vehicleData.gccDecode.image
  const file = files.find((one) => one.field === field)
  if (file === undefined)
    throw new Refusal(400, `Send vin, or a JPG or PNG of the VIN in the field ${field}`)
  const image = recogniseImage(file.bytes)
  if (image === null || !['jpg', 'png'].includes(image.extension))
    throw new Refusal(400, 'The image cannot be read: it has to be a JPG or PNG')
  for (const text of [file.fileName, file.bytes.toString('latin1')]) {
    const vin = /(?<![A-Z0-9])[A-HJ-NPR-Z0-9]{17}(?![A-Z0-9])/i.exec(text)
    if (vin !== null) return vin[0]
  }
  throw new Refusal(404, 'VIN not found')
}
