import type { WireSettings } from '../values/wire.ts'
import { type JsonSchema, listOf, objectOf, type PathSchemas } from './json-schema.ts'

const text: JsonSchema = { type: ['string', 'null'] }
const number: JsonSchema = { type: ['number', 'null'] }
const whole: JsonSchema = { type: 'integer' }
const anything: JsonSchema = {}

type Names = WireSettings['vehicleData']

/** Answers of the vehicle-data APIs whose names are wire settings, by operation [V §2]. */
export function vehicleDataAnswers(names: Names): Record<string, JsonSchema> {
  const { priceBatch, ppsrSearch, prediction } = names
  const predicted = predictionAnswer(prediction)
  return {
    gccfactoryvinext: gccDecodeAnswer(names),
    vindatabasic: auDecodeAnswer(names),
    historyCheck: historyAnswer(names),
    ppsrNewSearch: objectOf([
      [ppsrSearch.searchId, text],
      [ppsrSearch.pdfUrl, { ...text, format: 'uri' }],
      [ppsrSearch.securityInterests, whole],
      [ppsrSearch.writeOffs, whole],
      [ppsrSearch.stolen, whole],
    ]),
    'ppsrNewSearch-watch': objectOf([[ppsrSearch.watchStatus, text]]),
    'price-batch': objectOf([[priceBatch.submit.batchId, text]]),
    'price-batch-status': batchAnswer(priceBatch.poll),
    prediction: predicted,
    'prediction-status': predicted,
  }
}

function gccDecodeAnswer({ gccDecode }: Names): JsonSchema {
  const shownNames = [
    'VIN',
    'MY',
    'Make',
    'Model',
    'Variant',
    'Transmission',
    'Ext_Colour',
    'ADCode',
  ]
  return objectOf([
    ...shownNames.map((name) => [`VehicleData.${name}`, text] as const),
    ['VehicleData.GCC', { type: 'boolean' }],
    ['VehicleSpec.FactoryOptions', listOf({ type: 'string' })],
    [gccDecode.series, text],
    [gccDecode.buildDate, text],
    [gccDecode.body, text],
    [gccDecode.engine, text],
    [gccDecode.drivetrain, text],
    [gccDecode.interiorColour, text],
  ])
}

function auDecodeAnswer({ auDecode }: Names): JsonSchema {
  return objectOf([
    [auDecode.make, text],
    [auDecode.model, text],
    [auDecode.series, text],
    [auDecode.modelYear, anything],
    [auDecode.body, text],
    [auDecode.fuel, text],
    [auDecode.cylinders, number],
    [auDecode.engineLitres, number],
    [auDecode.transmission, text],
    [auDecode.options, listOf(anything)],
    [auDecode.adcode, text],
    [auDecode.echo, text],
  ])
}

function historyAnswer({ historyCheck }: Names): JsonSchema {
  const { titles, brands, salvage, accidents, thefts, liens } = historyCheck
  const records: PathSchemas = [titles, brands, salvage, accidents, thefts, liens].map(
    (name) => [name, listOf(anything)] as const,
  )
  return objectOf([[historyCheck.clean, { type: 'boolean' }], ...records])
}

function batchAnswer(poll: Names['priceBatch']['poll']): JsonSchema {
  const vehicle = objectOf([
    [poll.reference, text],
    [poll.retail, number],
    [poll.retailLow, number],
    [poll.retailHigh, number],
    [poll.wholesale, number],
    [poll.wholesaleLow, number],
    [poll.wholesaleHigh, number],
    [poll.currency, text],
    [poll.error, text],
  ])
  return objectOf([
    [poll.percentComplete, number],
    [poll.results, listOf(vehicle)],
  ])
}

function predictionAnswer(names: Names['prediction']): JsonSchema {
  return objectOf([
    [names.requestId, text],
    [names.status, text],
    [names.wholesale, number],
    [names.retail, number],
    [names.buyToRetail, number],
    [names.quickSale, number],
    [names.sweetSpot, number],
    [names.confidence, anything],
    [names.dealer, anything],
    [names.customer, anything],
  ])
}
