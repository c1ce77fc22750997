import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import type { z } from 'zod'
import * as checks from '#src/api/contract/appraisal/checks.ts'
import * as creation from '#src/api/contract/appraisal/creation.ts'
import * as evaluations from '#src/api/contract/appraisal/evaluations.ts'
import * as photos from '#src/api/contract/appraisal/photos.ts'
import { getPricing } from '#src/api/contract/appraisal/pricing.ts'
import * as webhooks from '#src/api/contract/appraisal/webhooks.ts'
import type { Effect, Operation } from '#src/api/contract/operation.ts'
import { allOperations } from '#src/api/contract/operations.ts'
import * as vehicleChecks from '#src/api/contract/vehicle-data/checks.ts'
import * as decode from '#src/api/contract/vehicle-data/decode.ts'
import { pollPrediction, predictPrice } from '#src/api/contract/vehicle-data/prediction.ts'
import * as prices from '#src/api/contract/vehicle-data/prices.ts'
import { openServices } from '#src/api/sources/open-services.ts'
import { makeConfig } from '#src/app/config/read.ts'
import { openLog } from '#src/log.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { samples } from '#src/sandbox/samples.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { valueAt } from '#src/values/json-path.ts'
import { defaultWire, type WireSettings } from '#src/values/wire.ts'
import { anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { renamedWire } from './renamed.ts'

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })
const now = new Date('2026-03-10T06:30:00Z')

function smallWorld() {
  return worldOf({
    rooftops: [aRooftop(), aRooftop({ uid: 'gulf', groupId: 'gulf', region: 'GCC', dealerId: 9 })],
    evaluations: [anEvaluation(), anEvaluation({ evalId: 1002, rooftopUid: 'gulf' })],
  })
}

type Call = <S extends z.ZodRawShape, A>(
  operation: Operation<Effect, S, A>,
  fields: z.input<z.ZodObject<S>>,
  more?: { readonly uid?: string; readonly files?: readonly string[] },
) => Promise<{ readonly answer: A; readonly body: unknown }>

/** Calls every operation of both services once, in a useful order, and returns what each answer holds. */
async function callEverything(wire: WireSettings, image: string): Promise<Map<string, unknown>> {
  const clock = new VirtualClock({ start: now, frozen: true })
  await using sandbox = await startSandbox({ world: smallWorld(), clock, wire })
  const config = makeConfig({ ...sandbox.clientConfig(), wire }, '/nowhere')
  await using services = openServices<Effect>(config, silent, ['read', 'write', 'bill'])
  const answers = new Map<string, unknown>()
  const call: Call = async (operation, fields, { uid = 'rooftop-1', files = [] } = {}) => {
    const { key, dealerId } = config.rooftops.find((one) => one.uid === uid)!
    const rooftop = { uid, dealerId, keyName: key }
    const reply = await services.client.call(operation, { fields, files, rooftop })
    const answer = reply.answer()
    answers.set(operation.name, answer)
    return { answer, body: reply.body }
  }
  await callAppraisal(call, wire, answers, image)
  await callVehicleData(call, sandbox.clock, image)
  return answers
}

async function callAppraisal(
  call: Call,
  wire: WireSettings,
  answers: Map<string, unknown>,
  image: string,
): Promise<void> {
  const { vin } = samples.auAmbiguous
  const { enterVin: names, updateEval, webhook, carHistory, ppsrCertificate } = wire.appraisal
  const { body: choice } = await call(creation.enterVin, { vin })
  const options = valueAt((choice as unknown[])[0], names.options) as unknown[]
  const desc = String(valueAt(options[0], names.description))
  answers.set('entervin', desc)
  const { body: made } = await call(creation.manualCarEntry, { vin, desc })
  const { EvalID: evalid } = made as { EvalID: number }
  answers.set('manualcarentry', valuesOf(made, { ...wire.appraisal.evaluation, vin: 'VIN' }))
  const { answer: uploaded } = await call(photos.uploadImage, { evalid }, { files: [image] })
  const imgid = Number(uploaded.CarPics[0]!.ID)
  await call(photos.orderImages, { evalid, ids: [imgid] })
  await call(photos.pinHero, { evalid, imgid })
  await call(photos.listImages, { evalid })
  const update = { evalid, km: 48_000, price: 20_000, cName: 'Pat', pricingAi: true }
  const { body: updated } = await call(creation.updateEvaluation, update)
  const gulf = { evalid: 1002, km: 9000, gccPriceGuide: true }
  const { body: priced } = await call(creation.updateEvaluation, gulf, { uid: 'gulf' })
  const { pricing, gccPricing } = updateEval
  answers.set('dcupdateeval', [valueAt(updated, pricing), valueAt(priced, gccPricing)])
  answers.set('geteval', (await call(evaluations.getEvaluation, { evalid })).answer.length)
  const { body: list } = await call(evaluations.listEvaluations, {})
  answers.set('getevallist', (valueAt(list, wire.appraisal.evalList.items) as unknown[]).length)
  await call(evaluations.listUsers, {})
  await call(getPricing, { evalid, reasoning: true })
  const { body: certificate } = await call(checks.searchPpsr, { evalid })
  answers.set('ppsrsearch', valuesOf(certificate, ppsrCertificate))
  const { body: history } = await call(checks.runCarHistory, { evalid })
  answers.set('carhistory', valuesOf(history, carHistory))
  const { pastCheck, watch } = wire.appraisal
  const { body: past } = await call(checks.listPastPpsr, { evalid })
  answers.set(
    'getpastppsrsearch',
    (past as unknown[]).map((one) => valuesOf(one, pastCheck)),
  )
  const { body: reports } = await call(checks.listPastCarHistory, { evalid })
  answers.set(
    'getpastcarhistory',
    (reports as unknown[]).map((one) => valuesOf(one, pastCheck)),
  )
  const { body: watched } = await call(checks.watchPpsr, { evalid })
  const items = valueAt(watched, watch.checks) as unknown[]
  answers.set(
    'ppsrwatch',
    items.map((one) => valuesOf(one, watch)),
  )
  await callWebhooks(call, webhook, answers)
}

async function callWebhooks(
  call: Call,
  names: WireSettings['appraisal']['webhook'],
  answers: Map<string, unknown>,
): Promise<void> {
  const wanted = {
    type: 'eval',
    trigger_event: 'ON_COMPLETE',
    webhook: 'https://a.example/x',
  } as const
  const { body: made } = await call(webhooks.createWebhook, wanted)
  const id = Number(valueAt(made, names.id))
  answers.set('webhooks-create', valuesOf(made, names))
  const { body: changed } = await call(webhooks.updateWebhook, {
    id,
    webhook: 'https://b.example/',
  })
  answers.set('webhooks-update', valuesOf(changed, names))
  const { body: list } = await call(webhooks.listWebhooks, {})
  const items = valueAt(list, names.items) as unknown[]
  answers.set(
    'webhooks-list',
    items.map((one) => valuesOf(one, names)),
  )
  await call(webhooks.deleteWebhook, { id })
  answers.set('webhooks-delete', 'done')
}

async function callVehicleData(call: Call, clock: VirtualClock, image: string): Promise<void> {
  await call(decode.decodeGcc, { vin: samples.gccSingle.vin })
  await call(decode.decodeGcc, {}, { files: [image] }).catch(() => undefined)
  await call(decode.decodeAu, { vin: samples.auSingle.vin, clientReference: 'mine' })
  await call(vehicleChecks.checkHistory, { vin: samples.usSingle.vin })
  const { answer: found } = await call(vehicleChecks.searchNewPpsr, { vin: samples.auSingle.vin })
  await call(vehicleChecks.watchNewPpsr, { searchId: found.searchId! })
  const { vin } = samples.auSingle
  const guide = { vin, market: 'AU', km: 9000, gccSpec: true, saleMonth: 2, saleYear: 2025 }
  await call(prices.getPriceGuide, guide)
  const vehicles = [
    { reference: 'S-1', vin, km: 9000 },
    { reference: 'S-2', adcode: 'AU0TOYHILUX01' },
    { reference: 'S-3', adcode: 'nothing' },
  ]
  const { answer: batch } = await call(prices.submitPriceBatch, { vehicles, market: 'AU' })
  clock.advance(60_000)
  await call(prices.pollPriceBatch, { batchId: batch.batchId! })
  const asked = { vin, km: 9000, predictDate: '2026-01-02', reasoning: true }
  const { answer: begun } = await call(predictPrice, asked)
  clock.advance(120_000)
  await call(pollPrediction, { requestId: begun.requestId! })
}

/** The values at the paths of a group of settings, by their names. */
function valuesOf(body: unknown, names: Readonly<Record<string, string | string[]>>) {
  return Object.fromEntries(
    Object.entries(names).map(([name, path]) => [name, path === '' ? null : valueAt(body, path)]),
  )
}

test('every operation gives the same answer when every name differs, with only wire edited', async () => {
  await using folder = await temporaryFolder()
  const image = join(folder.path, `${samples.gccSingle.vin}.png`)
  const picture = { width: 8, height: 8, channels: 3, background: 'red' } as const
  await writeFile(image, await sharp({ create: picture }).png().toBuffer())

  const usual = await callEverything(defaultWire, image)
  const renamed = await callEverything(renamedWire(), image)

  expect([...usual.keys()].sort()).toEqual(allOperations.map(({ name }) => name).sort())
  const plain = (answers: Map<string, unknown>) =>
    JSON.stringify([...answers], (name, value) => (name === 'items' ? undefined : value), 1)
      .replaceAll(/127\.0\.0\.1:\d+/g, 'HERE')
      .replaceAll(/"renamed": \{[^}]*\},?/g, '')
  expect(plain(renamed)).toBe(plain(usual))
})

test('the text of an error is read at its wire path, and where the document shows it', async () => {
  const wire = renamedWire()
  await using sandbox = await startSandbox({ world: smallWorld(), wire })
  const config = makeConfig({ ...sandbox.clientConfig(), wire }, '/nowhere')
  await using services = openServices<Effect>(config, silent, ['read', 'write', 'bill'])
  const { uid, dealerId, key: keyName } = config.rooftops[0]!
  const rooftop = { uid, dealerId, keyName }
  const { client } = services

  const hero = { rooftop, fields: { evalid: 1001, imgid: 9 } }
  await expect(
    client.call(evaluations.getEvaluation, { rooftop, fields: { evalid: 9 } }),
  ).rejects.toThrow('answered 400: "Evaluation not found"')
  await expect(client.call(photos.pinHero, hero)).rejects.toThrow(
    /answered 404: ".+" \(1 attempt\)/,
  )
  await expect(client.call(prices.pollPriceBatch, { fields: { batchId: 'none' } })).rejects.toThrow(
    'answered 404: "Batch not found"',
  )
})
