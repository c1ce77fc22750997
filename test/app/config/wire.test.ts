import { expect, test } from 'vitest'
import { changedSettings, defaultWire } from '#src/values/wire.ts'
import { configOf, problemsOf } from './config-support.ts'

// All wire settings by name.
const names = `
appraisal.authHeader appraisal.authPrefix appraisal.evalList.items appraisal.evalList.id appraisal.evalList.updatedAt
appraisal.evaluation.dealerId appraisal.evaluation.make appraisal.evaluation.model appraisal.evaluation.variant
appraisal.evaluation.year appraisal.evaluation.registration appraisal.evaluation.registrationState
appraisal.evaluation.odometer appraisal.evaluation.colour appraisal.evaluation.condition appraisal.evaluation.notes
appraisal.evaluation.customerName appraisal.evaluation.customerPhone appraisal.evaluation.customerEmail
appraisal.evaluation.customerPostcode appraisal.evaluation.customerState appraisal.evaluation.customerAddress
appraisal.evaluation.customerSuburb appraisal.pastCheck.id appraisal.pastCheck.createdAt appraisal.pastCheck.pdfUrl
appraisal.watch.checks appraisal.watch.checkId appraisal.watch.checkStatus appraisal.watch.checkedAt
appraisal.webhook.items appraisal.webhook.id appraisal.generatedUser.namePrefix appraisal.generatedUser.emailSuffix
vehicleData.priceBatch.submit.encoding vehicleData.priceBatch.submit.vehicles vehicleData.priceBatch.submit.reference
vehicleData.priceBatch.submit.vin vehicleData.priceBatch.submit.adcode vehicleData.priceBatch.submit.km
vehicleData.priceBatch.submit.batchId vehicleData.priceBatch.poll.method vehicleData.priceBatch.poll.path
vehicleData.priceBatch.poll.percentComplete vehicleData.priceBatch.poll.results vehicleData.priceBatch.poll.reference
vehicleData.priceBatch.poll.retail vehicleData.priceBatch.poll.retailLow vehicleData.priceBatch.poll.retailHigh
vehicleData.priceBatch.poll.wholesale vehicleData.priceBatch.poll.wholesaleLow
vehicleData.priceBatch.poll.wholesaleHigh vehicleData.priceBatch.poll.currency vehicleData.priceBatch.poll.error
vehicleData.gccDecode.image vehicleData.gccDecode.series vehicleData.gccDecode.buildDate vehicleData.gccDecode.body
vehicleData.gccDecode.engine vehicleData.gccDecode.drivetrain vehicleData.gccDecode.interiorColour
vehicleData.auDecode.vin vehicleData.auDecode.clientReference vehicleData.auDecode.make vehicleData.auDecode.model
vehicleData.auDecode.series vehicleData.auDecode.modelYear vehicleData.auDecode.body vehicleData.auDecode.fuel
vehicleData.auDecode.transmission vehicleData.auDecode.adcode vehicleData.historyCheck.vin
vehicleData.historyCheck.clean vehicleData.ppsrSearch.vin vehicleData.ppsrSearch.pdfUrl
vehicleData.ppsrSearch.securityInterests vehicleData.ppsrSearch.writeOffs vehicleData.ppsrSearch.stolen
vehicleData.priceGuide.vin vehicleData.priceGuide.gccSpec vehicleData.priceGuide.saleMonth
vehicleData.priceGuide.saleYear vehicleData.prediction.adcode vehicleData.prediction.vin vehicleData.prediction.km
vehicleData.prediction.predictDate vehicleData.prediction.reasoning vehicleData.prediction.requestId
vehicleData.prediction.pollPath vehicleData.prediction.status vehicleData.prediction.wholesale
vehicleData.prediction.retail vehicleData.prediction.buyToRetail vehicleData.prediction.quickSale
vehicleData.prediction.sweetSpot vehicleData.prediction.confidence vehicleData.prediction.dealer
vehicleData.prediction.customer`
  .trim()
  .split(/\s+/)

test('every wire setting exists and has a default', () => {
  const settingAt = (name: string) =>
    name
      .split('.')
      .reduce<unknown>(
        (node, part) => (node as Record<string, unknown> | undefined)?.[part],
        defaultWire,
      )

  expect(names.filter((name) => settingAt(name) === undefined)).toEqual([])
})

test('a setting may be a path or several candidates, and only differences are reported', () => {
  const { wire } = configOf(
    'wire: { appraisal: { authPrefix: "Bearer ", evalList: { id: [a.b, c] }, webhook: { items: "" } } }',
  )

  expect(changedSettings(wire, defaultWire)).toEqual([
    { path: 'appraisal.authPrefix', value: 'Bearer ', defaultValue: '' },
    { path: 'appraisal.evalList.id', value: ['a.b', 'c'], defaultValue: 'EvalID' },
  ])
})

test('a wire setting that is not a path, or not one of the choices, is reported with its line', () => {
  const text = `wire:
  appraisal:
    evalList:
      id: [1]
      updatedAt: []
  vehicleData:
    priceBatch:
      submit: { encoding: xml, vehicles: 3 }
`

  expect(problemsOf(text)).toEqual([
    'forecourt.yaml:4: wire.appraisal.evalList.id must be a dotted path or a list of such paths.',
    'forecourt.yaml:5: wire.appraisal.evalList.updatedAt must not be an empty list.',
    'forecourt.yaml:8: wire.vehicleData.priceBatch.submit.encoding must be one of json, form.',
    'forecourt.yaml:8: wire.vehicleData.priceBatch.submit.vehicles must be text: put it in quotes.',
  ])
})
